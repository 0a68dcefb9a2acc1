"""Attempts, append-only, and the steps of each."""

from __future__ import annotations

from sqlalchemy import Row, func, insert, select, update

from app.domain.board import AttemptOutcome, StepDispatched, StepState
from app.domain.digest import digest
from app.domain.errors import NotFound
from app.domain.identity import WorldId
from app.store import clock
from app.store.engine import Tx
from app.store.schema import attempts, steps


def latest(tx: Tx, world: WorldId, task_id: str) -> Row[tuple[object, ...]] | None:
    """The row of a task's newest attempt."""
    return tx.execute(
        select(attempts).where(attempts.c.world_id == world, attempts.c.task_id == task_id)
        .order_by(attempts.c.number.desc()).limit(1)
    ).one_or_none()  # fmt: skip


def get(tx: Tx, world: WorldId, attempt_id: str) -> Row[tuple[object, ...]]:
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
        .values(state=StepState.DISPATCHED, activity_id=step.activity)
    )  # fmt: skip


def set_step_state(tx: Tx, world: WorldId, attempt_id: str, name: str, state: StepState) -> None:
    """Say how far a step has come."""
    tx.execute(
        update(steps).where(steps.c.world_id == world, steps.c.attempt_id == attempt_id)
        .where(steps.c.name == name).values(state=state)
    )  # fmt: skip


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
        .values(state=StepState.SKIPPED)
    )  # fmt: skip


def step_rows(tx: Tx, world: WorldId, attempt_id: str) -> list[Row[tuple[object, ...]]]:
    """An attempt's steps in order."""
    return list(
        tx.execute(
            select(steps).where(steps.c.world_id == world, steps.c.attempt_id == attempt_id)
            .order_by(steps.c.position)
        )
    )  # fmt: skip


def count_active(tx: Tx, world: WorldId) -> int:
    """How many attempts of a world have not ended."""
    return tx.execute(
        select(func.count()).select_from(attempts)
        .where(attempts.c.world_id == world, attempts.c.ended_at.is_(None))
    ).scalar_one()  # fmt: skip
