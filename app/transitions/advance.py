"""Advancing an attempt inside a tick: whatever follows from how far its steps have come."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping

from app.domain.board import AttemptEnded, AttemptOutcome, Column, StepEnded, StepState, TaskMoved
from app.domain.digest import stored
from app.domain.identity import EntityId
from app.kinds.order import is_canceled, is_paused, order_of
from app.store import attempts
from app.transitions.change import DISPATCHER, Change
from app.transitions.place import leave, take, wait
from app.transitions.step import dispatch_step
from app.workflow.graph import WAITING, Graph, StepKind, compile_workflow
from app.workflow.progress import Came, after

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
    attempt = change.cards.attempt(attempt_id)
    if attempt.is_over:
        return
    graph = _compiled(attempt.workflow)
    task = change.cards.task_of(attempt_id).entity
    came = dict(attempt.steps)
    canceled = is_canceled(world, task, attempt_id)
    now = after(graph, came, canceled=canceled, paused=is_paused(world, task, attempt_id))
    for name, state in now.end:
        if graph.step(name).kind is StepKind.GATE and came[name].state is StepState.DISPATCHED:
            attempts.decide_gate(
                tx, world.id, attempt_id, name, "canceled", DISPATCHER, "the attempt ended"
            )
        change.decide(StepEnded(attempt_id, name, state))
    _dispatch(change, task, attempt_id, graph, came, now.dispatch)
    ended = {name for name, _ in now.end}
    for name, step in came.items():
        if step.waits is not None and name not in ended.union(now.dispatch):
            wait(change, attempt_id, name, step, None)  # it was paused
    if now.outcome is not None:
        leave(change, task, attempt_id)
        proposed = any(step.kind is StepKind.PULL_REQUEST for step in graph.steps)
        done = Column.REVIEW if proposed else Column.DONE
        column = _COLUMNS.get(now.outcome, done)
        change.decide(AttemptEnded(attempt_id, now.outcome), TaskMoved(attempt_id, column))


@functools.lru_cache(maxsize=256)
def _compiled(workflow: bytes) -> Graph:
    """The graph of a snapshot; many attempts run the same."""
    return compile_workflow(stored(workflow))


def _dispatch(
    change: Change, task: EntityId, attempt_id: str, graph: Graph, came: Mapping[str, Came],
    ready: Collection[str],
) -> None:  # fmt: skip
    """Dispatch the ready steps that have a place; the others wait, and say for what (O08)."""
    at_work = any(
        step.state is StepState.DISPATCHED and graph.step(name).kind not in WAITING
        for name, step in came.items()
    )
    for name in ready:
        order, step = order_of(change.world, task, attempt_id), graph.step(name)
        if take(change, task, order, step, came[name], is_at_work=at_work):
            dispatch_step(change, task, order_of(change.world, task, attempt_id), step)
            at_work = at_work or step.kind not in WAITING
