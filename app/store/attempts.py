"""Attempts, append-only, and the steps of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from sqlalchemy import Row, insert, select, update

from app.domain.board import AttemptOutcome, GateOpened, StepDispatched, StepEnded, StepState
from app.domain.bounds import Bound
from app.domain.digest import Json, canonical, digest, parse
from app.domain.errors import NotFound
from app.domain.identity import WorldId
from app.domain.result import Outcome
from app.store import clock
from app.store.engine import Tx
from app.store.schema import attempts, gates, steps
from app.workflow.progress import Came, Waits

AttemptRow: TypeAlias = Row[tuple[object, ...]]

_WAITS_NO_MORE = {"waits_for": None, "waits_at": None, "waits_since": None}


def latest(tx: Tx, world: WorldId, task_id: str) -> Row[tuple[object, ...]] | None:
    """The row of a task's newest attempt."""
    return tx.execute(
        select(attempts).where(attempts.c.world_id == world, attempts.c.task_id == task_id)
        .order_by(attempts.c.number.desc()).limit(1)
    ).one_or_none()  # fmt: skip


def get(tx: Tx, world: WorldId, attempt_id: str) -> AttemptRow:
    """The row of an attempt; NotFound."""
    row = tx.execute(
        select(attempts).where(attempts.c.world_id == world, attempts.c.attempt_id == attempt_id)
    ).one_or_none()
    if row is None:
        raise NotFound(f"no attempt {attempt_id}")
    return row


def add(
    tx: Tx, world: WorldId, tick: int, attempt_id: str, task_id: str, number: int, workflow: bytes,
    actor: str, reason: str | None,
) -> None:  # fmt: skip
    """Append an attempt; a second active one of the task is ActiveAttempt."""
    tx.execute(
        insert(attempts).values(
            world_id=world, attempt_id=attempt_id, task_id=task_id, number=number, retry=number - 1,
            workflow=workflow, workflow_digest=digest(workflow), tick=tick,
            actor=actor, reason=reason,
        )
    )  # fmt: skip


def add_steps(tx: Tx, world: WorldId, attempt_id: str, named: list[tuple[str, str]]) -> None:
    """Append an attempt's steps, (name, kind) in order."""
    tx.execute(
        insert(steps),
        [
            {"world_id": world, "attempt_id": attempt_id, "name": name, "kind": kind,
             "position": position, "state": StepState.PENDING}
            for position, (name, kind) in enumerate(named, 1)
        ],
    )  # fmt: skip


def dispatch_step(tx: Tx, world: WorldId, step: StepDispatched) -> None:
    """Name the activity that a step has become."""
    tx.execute(
        update(steps).where(steps.c.world_id == world, steps.c.attempt_id == step.attempt)
        .where(steps.c.name == step.step)
        .values(state=StepState.DISPATCHED, activity_id=step.activity, **_WAITS_NO_MORE)
    )  # fmt: skip


def end_step(tx: Tx, world: WorldId, ended: StepEnded) -> None:
    """Say that a step is over, how, and with which outputs."""
    tx.execute(
        update(steps).where(steps.c.world_id == world, steps.c.attempt_id == ended.attempt)
        .where(steps.c.name == ended.step)
        .values(
            state=ended.state, outcome=ended.outcome, outputs=canonical(ended.outputs),
            **_WAITS_NO_MORE,
        )
    )  # fmt: skip


def open_gate(tx: Tx, world: WorldId, tick: int, gate: GateOpened) -> None:
    """Let a step wait for a person."""
    tx.execute(
        insert(gates).values(world_id=world, attempt_id=gate.attempt, step=gate.step, tick=tick)
    )
    tx.execute(
        update(steps).where(steps.c.world_id == world, steps.c.attempt_id == gate.attempt)
        .where(steps.c.name == gate.step).values(state=StepState.DISPATCHED)
    )  # fmt: skip


def decide_gate(
    tx: Tx, world: WorldId, attempt_id: str, step: str, decision: str, actor: str, reason: str
) -> bool:
    """Write a person's decision down; False where no open gate has this name."""
    done = tx.execute(
        update(gates).where(gates.c.world_id == world, gates.c.attempt_id == attempt_id)
        .where(gates.c.step == step, gates.c.decided_at.is_(None))
        .values(decided_at=clock.now(), decision=decision, decided_by=actor, reason=reason)
        .returning(gates.c.step)
    )  # fmt: skip
    return done.scalar() is not None


def end(tx: Tx, world: WorldId, attempt_id: str, outcome: AttemptOutcome) -> None:
    """End an attempt and turn its unfinished steps into `skipped`, together (O05)."""
    tx.execute(
        update(attempts).where(attempts.c.world_id == world, attempts.c.attempt_id == attempt_id)
        .where(attempts.c.ended_at.is_(None))
        .values(ended_at=clock.now(), outcome=outcome)
    )  # fmt: skip
    tx.execute(
        update(steps).where(steps.c.world_id == world, steps.c.attempt_id == attempt_id)
        .where(steps.c.state.in_([StepState.PENDING, StepState.DISPATCHED]))
        .values(state=StepState.SKIPPED, **_WAITS_NO_MORE)
    )  # fmt: skip


def step_rows(tx: Tx, world: WorldId, attempt_id: str) -> list[Row[tuple[object, ...]]]:
    """An attempt's steps in order."""
    return list(
        tx.execute(
            select(steps).where(steps.c.world_id == world, steps.c.attempt_id == attempt_id)
            .order_by(steps.c.position)
        )
    )  # fmt: skip


def came(tx: Tx, world: WorldId, attempt_id: str) -> dict[str, Came]:
    """How far each step of an attempt has come."""
    return {
        row.name: Came(
            StepState(row.state),
            Outcome(row.outcome) if row.outcome else None,
            cast("Mapping[str, Json]", parse(row.outputs)) if row.outputs else {},
            Waits(Bound(row.waits_for), row.waits_at, row.waits_since) if row.waits_for else None,
        )
        for row in step_rows(tx, world, attempt_id)
    }
