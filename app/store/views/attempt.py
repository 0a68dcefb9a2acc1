"""One attempt as people see it: its steps, what each became, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import func, select

from app.domain.digest import Json, parse
from app.domain.errors import NotFound
from app.store import clock
from app.store.engine import Tx
from app.store.schema import (
    activities,
    attempts,
    payloads,
    receipts,
    repositories,
    results,
    settlements,
    starts,
    steps,
    tasks,
    unknowns,
    work_orders,
)
from app.store.views.listing import of_repository, of_task, of_work_order


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A step, and the activity that it became."""

    name: str
    state: str
    kind: str
    activity: str | None
    fence: int | None
    stop: str | None
    outcome: str | None  #: of the recorded result
    settled_tick: int | None
    unknown: str | None  #: code of the open one
    unknown_detail: str | None
    waits: str | None  #: the bound that holds it back (O08)


@dataclass(frozen=True, slots=True)
class ReceiptSeen:
    """One committed tick: who asked for what."""

    tick: int
    verb: str
    actor: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AttemptSeen:
    """An attempt with what it belongs to."""

    world: str
    id: str
    number: int
    task: str
    title: str
    column: str
    work_order: str
    repository: str
    repository_name: str
    url: str
    actor: str
    reason: str | None
    tick: int
    created_at: datetime
    ended_at: datetime | None
    outcome: str | None
    now: datetime  #: by the database's clock
    steps: tuple[StepSeen, ...]

    @property
    def elapsed(self) -> timedelta:
        """From its dispatch to its end, or to now."""
        return (self.ended_at or self.now) - self.created_at

    @property
    def is_settled(self) -> bool:
        """It ended, and so did every activity that it became."""
        return self.ended_at is not None and all(
            step.settled_tick is not None for step in self.steps if step.fence is not None
        )

    @property
    def unknown(self) -> StepSeen | None:
        """A step that waits for a person."""
        return next((step for step in self.steps if step.unknown is not None), None)


def attempt_seen(tx: Tx, world: str, attempt: str) -> AttemptSeen:
    """An attempt as its rows stand; NotFound."""
    row = tx.execute(
        select(
            attempts.c.world_id, attempts.c.attempt_id, attempts.c.number, attempts.c.task_id,
            tasks.c.title, tasks.c.board_column, tasks.c.work_order_id,
            repositories.c.repository_id, repositories.c.name, repositories.c.url,
            attempts.c.actor, attempts.c.reason, attempts.c.tick, attempts.c.created_at,
            attempts.c.ended_at, attempts.c.outcome, clock.now(),
        )
        .join(tasks, of_task()).join(work_orders, of_work_order())
        .join(repositories, of_repository())
        .where(attempts.c.world_id == world, attempts.c.attempt_id == attempt)
    ).one_or_none()  # fmt: skip
    if row is None:
        raise NotFound(f"no attempt {attempt}", hint="see `fencepost attempts list`")
    values: list[Any] = [*row, _steps(tx, world, attempt)]
    return AttemptSeen(*values)


def _steps(tx: Tx, world: str, attempt: str) -> tuple[StepSeen, ...]:
    here = (activities.c.world_id == steps.c.world_id) & (activities.c.kind == steps.c.kind)
    query = select(
        steps.c.name, steps.c.state, steps.c.kind, steps.c.activity_id, activities.c.fence,
        activities.c.stop, results.c.outcome, settlements.c.tick, unknowns.c.code,
        unknowns.c.detail, steps.c.waits_for,
    ).outerjoin(activities, here & (activities.c.activity_id == steps.c.activity_id))  # fmt: skip
    for table in (results, settlements, unknowns):
        same = (
            (table.c.world_id == activities.c.world_id)
            & (table.c.kind == activities.c.kind)
            & (table.c.activity_id == activities.c.activity_id)
        )
        query = query.outerjoin(
            table, same & table.c.decided_at.is_(None) if table is unknowns else same
        )
    rows = tx.execute(
        query.where(steps.c.world_id == world, steps.c.attempt_id == attempt)
        .order_by(steps.c.position)
    )  # fmt: skip
    values: list[tuple[Any, ...]] = [tuple(row) for row in rows]
    return tuple(StepSeen(*row) for row in values)


def observations_of(tx: Tx, seen: AttemptSeen) -> dict[str, Mapping[str, Json]]:
    """What was recorded of each step that has a result: step → observation."""
    found = {}
    for step in seen.steps:
        payload = tx.execute(
            select(payloads.c.bytes)
            .join(
                results,
                (results.c.world_id == payloads.c.world_id)
                & (results.c.digest == payloads.c.digest),
            )
            .where(results.c.world_id == seen.world, results.c.kind == step.kind)
            .where(results.c.activity_id == step.activity)
        ).scalar()
        if payload is not None:
            found[step.name] = cast("Mapping[str, Json]", parse(bytes(payload)))
    return found


def modes_of(tx: Tx, seen: AttemptSeen) -> dict[str, str]:
    """Where the fence of each step that was started stands at its remote (PROTOCOL §7)."""
    found = {}
    for step in seen.steps:
        mode = tx.execute(
            select(starts.c.mode)
            .where(starts.c.world_id == seen.world, starts.c.kind == step.kind)
            .where(starts.c.activity_id == step.activity)
            .order_by(starts.c.fence.desc()).limit(1)
        ).scalar()  # fmt: skip
        if mode is not None:
            found[step.name] = str(mode)
    return found


def receipts_of(tx: Tx, seen: AttemptSeen) -> list[ReceiptSeen]:
    """The receipts that speak of an attempt: the commands on it, and every receipt of its work."""
    marks = [seen.id, seen.task, seen.work_order]
    marks += [step.activity for step in seen.steps if step.activity]
    began = (
        select(work_orders.c.tick)
        .where(work_orders.c.world_id == seen.world)
        .where(work_orders.c.work_order_id == seen.work_order)
        .scalar_subquery()
    )
    last = max([step.settled_tick or 0 for step in seen.steps] + [seen.tick])
    speaks = func.convert_from(receipts.c.bytes, "UTF8")
    rows = tx.execute(
        select(receipts.c.tick, receipts.c.verb, receipts.c.actor, receipts.c.recorded_at)
        .where(receipts.c.world_id == seen.world, receipts.c.tick.between(began, last))
        .where(func.coalesce(*[func.nullif(func.strpos(speaks, mark), 0) for mark in marks]) > 0)
        .order_by(receipts.c.tick)
    )
    return [ReceiptSeen(*row) for row in rows]
