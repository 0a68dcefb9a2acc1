"""Advancing an attempt inside a tick: whatever follows from how far its steps have come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from app.domain.board import AttemptEnded, AttemptOutcome, Column, StepEnded, StepState, TaskMoved
from app.domain.digest import Json, parse
from app.kinds.order import is_canceled, is_paused, order_of
from app.store import attempts, board
from app.transitions.change import DISPATCHER, Change
from app.transitions.step import dispatch_step
from app.workflow.graph import StepKind, compile_workflow
from app.workflow.progress import after

#: Where the task's card hangs once its attempt has ended.
_COLUMNS = {
    AttemptOutcome.UNCHANGED: Column.DONE,
    AttemptOutcome.FAILED: Column.IN_PROGRESS,
    AttemptOutcome.DEAD: Column.IN_PROGRESS,
    AttemptOutcome.CANCELED: Column.READY,
    AttemptOutcome.ABANDONED: Column.READY,
}


def advance(change: Change, attempt_id: str) -> None:
    """Dispatch what is ready, end what will never run, and end the attempt when all is over.

    Works on the workflow snapshot that the attempt keeps (O03); one that has ended is left alone.
    """
    tx, world = change.tx, change.world
    attempt = attempts.get(tx, world.id, attempt_id)
    if attempt.ended_at is not None:
        return
    graph = compile_workflow(cast("Mapping[str, Json]", parse(attempt.workflow)))
    task = board.task(tx, world.id, attempt.task_id).entity
    came = attempts.came(tx, world.id, attempt_id)
    canceled = is_canceled(world, task, attempt_id)
    now = after(graph, came, canceled=canceled, paused=is_paused(world, task, attempt_id))
    for name, state in now.end:
        if graph.step(name).kind is StepKind.GATE and came[name].state is StepState.DISPATCHED:
            attempts.decide_gate(
                tx, world.id, attempt_id, name, "canceled", DISPATCHER, "the attempt ended"
            )
        change.decide(StepEnded(attempt_id, name, state))
    for name in now.dispatch:
        dispatch_step(change, task, order_of(world, task, attempt_id), graph.step(name))
    if now.outcome is not None:
        proposed = any(step.kind is StepKind.PULL_REQUEST for step in graph.steps)
        done = Column.REVIEW if proposed else Column.DONE
        column = _COLUMNS.get(now.outcome, done)
        change.decide(AttemptEnded(attempt_id, now.outcome), TaskMoved(attempt_id, column))
