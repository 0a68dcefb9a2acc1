"""Attempts, append-only, and the steps of each."""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlalchemy import Row, insert, select, update

from app.domain.board import GateOpened, StepState
from app.domain.bounds import Bound
from app.domain.digest import stored
from app.domain.errors import NotFound
from app.domain.identity import WorldId
from app.domain.result import Outcome
from app.store import clock
from app.store.engine import Tx
from app.store.schema import attempts, gates, steps
from app.workflow.progress import Came, Waits

AttemptRow: TypeAlias = Row[tuple[object, ...]]


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


def step_rows(tx: Tx, world: WorldId, attempt_id: str) -> list[Row[tuple[object, ...]]]:
    """An attempt's steps in order."""
    return list(
        tx.execute(
            select(steps).where(steps.c.world_id == world, steps.c.attempt_id == attempt_id)
            .order_by(steps.c.position)
        )
    )  # fmt: skip


def came_from(row: Row[tuple[Any, ...]]) -> Came:
    """How far the step of a row has come."""
    return Came(
        StepState(row.state),
        Outcome(row.outcome) if row.outcome else None,
        stored(row.outputs) if row.outputs else {},
        Waits(Bound(row.waits_for), row.waits_at, row.waits_since) if row.waits_for else None,
    )
