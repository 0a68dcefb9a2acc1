"""What was tried under a work order, read for its budget (T11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import cast

from sqlalchemy import and_, func, select

from app.domain.board import AttemptOutcome, StepState
from app.domain.budget import Tried
from app.domain.digest import Json, parse, stored
from app.domain.failure import Signature, signature
from app.domain.identity import WorldId
from app.kinds import author
from app.kinds.failure import signature_of
from app.kinds.reading import usage_of
from app.store import clock
from app.store.engine import Tx
from app.store.schema import attempts, payloads, results, steps, tasks

_FAILED = (AttemptOutcome.FAILED, AttemptOutcome.DEAD)

_of_task = and_(tasks.c.world_id == attempts.c.world_id, tasks.c.task_id == attempts.c.task_id)


def tried(tx: Tx, world: WorldId, order_id: str) -> tuple[Tried, ...]:
    """Every attempt of a work order's tasks, oldest first, and how each of them failed."""
    rows = tx.execute(
        select(
            attempts.c.attempt_id, attempts.c.outcome,
            (func.coalesce(attempts.c.ended_at, clock.now()) - attempts.c.created_at).label("took"),
        )
        .join(tasks, _of_task)
        .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
        .order_by(attempts.c.tick)
    ).all()  # fmt: skip
    failures, used = dict(_failures(tx, world, order_id)), _used(tx, world, order_id)
    nothing: tuple[Signature | None, str] = (None, "")
    return tuple(
        Tried(
            row.attempt_id, row.outcome, row.took, *failures.get(row.attempt_id, nothing),
            *used.get(row.attempt_id, (None, None)),
        )
        for row in rows
    )  # fmt: skip


def time_spent(tx: Tx, world: WorldId, order_id: str) -> timedelta:
    """The sum of how long a work order's attempts took, up to now."""
    took = func.coalesce(attempts.c.ended_at, clock.now()) - attempts.c.created_at
    spent: timedelta | None = tx.execute(
        select(func.sum(took)).join(tasks, _of_task)
        .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
    ).scalar()  # fmt: skip
    return spent or timedelta(0)


def _used(tx: Tx, world: WorldId, order_id: str) -> dict[str, tuple[int | None, int | None]]:
    """Attempt → tokens and cost that its agent reported, of an attempt that asked one."""
    rows = tx.execute(
        select(steps.c.attempt_id, payloads.c.bytes)
        .join(attempts, and_(attempts.c.world_id == steps.c.world_id,
                             attempts.c.attempt_id == steps.c.attempt_id))
        .join(tasks, _of_task)
        .join(results, and_(results.c.world_id == steps.c.world_id,
                            results.c.kind == steps.c.kind,
                            results.c.activity_id == steps.c.activity_id))
        .join(payloads, and_(payloads.c.world_id == results.c.world_id,
                             payloads.c.digest == results.c.digest))
        .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
        .where(steps.c.kind == author.NAME)
    )  # fmt: skip
    return {row.attempt_id: usage_of(stored(bytes(row.bytes))) for row in rows}


def _failures(
    tx: Tx, world: WorldId, order_id: str
) -> Iterator[tuple[str, tuple[Signature | None, str]]]:
    """Attempt → the signature of its first failed step, and the failure's own words."""
    here = (results.c.world_id == steps.c.world_id) & (results.c.kind == steps.c.kind)
    rows = tx.execute(
        select(steps.c.attempt_id, steps.c.name, payloads.c.bytes)
        .join(attempts, and_(attempts.c.world_id == steps.c.world_id,
                             attempts.c.attempt_id == steps.c.attempt_id))
        .join(tasks, _of_task)
        .outerjoin(results, here & (results.c.activity_id == steps.c.activity_id))
        .outerjoin(payloads, and_(payloads.c.world_id == results.c.world_id,
                                  payloads.c.digest == results.c.digest))
        .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
        .where(attempts.c.outcome.in_(_FAILED), steps.c.state == StepState.FAILED)
        .order_by(steps.c.attempt_id, steps.c.position.desc())  # the first one is kept
    )  # fmt: skip
    for row in rows:
        if row.bytes is None:  # a gate that a person rejected
            gate = signature(row.name, "gate_rejected", "")
            yield row.attempt_id, (gate, f"{row.name}: rejected by a person")
        else:
            seen = cast("Mapping[str, Json]", parse(bytes(row.bytes)))
            yield row.attempt_id, signature_of(row.name, seen)
