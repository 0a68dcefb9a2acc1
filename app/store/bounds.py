"""Writers of bases, steps that wait for a place, and what is at work (O08)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from sqlalchemy import ColumnElement, Table, and_, exists, func, insert, select, update

from app.domain.board import StepState, StepWaits, WriterEntered, WriterLeft, WriterStays, Writing
from app.domain.bounds import NOT_AT_WORK, Bound, Limits, Load
from app.domain.identity import WorldId
from app.store import clock
from app.store.engine import Tx
from app.store.schema import attempts, steps, tasks, work_orders, writers


@dataclass(frozen=True, slots=True)
class Place:
    """Where steps wait: a bound, and the repository and base that it is of."""

    bound: Bound
    at: str

    @property
    def repository(self) -> str:
        """The repository's id; empty where the bound is the world's."""
        return self.at.partition(" ")[0]

    @property
    def base(self) -> str:
        """The base; empty where the bound is none of a base."""
        return self.at.partition(" ")[2]


@dataclass(frozen=True, slots=True)
class Awaited:
    """An open request that somebody waits for."""

    world: WorldId
    attempt: str
    repository: str
    base: str
    request: int


def load(
    tx: Tx, world: WorldId, limits: Limits, repository: str, base: str | None, *, beside: str = ""
) -> Load:
    """What is at work, as far as a limit asks for it, and who writes on the base.

    `beside`: the attempt that asks; it is not counted. Without a base nobody writes.
    """
    found: list[int] = []
    if base:
        bound = select(writers.c.bound).where(_here(world, repository, base))
        found = list(tx.execute(bound.where(writers.c.attempt_id != beside)).scalars())
    return Load(
        0 if limits.world is None else _at_work(tx, world, beside),
        0 if limits.repository is None else _at_work(tx, world, beside, repository),
        found,
    )


def is_writer(tx: Tx, world: WorldId, attempt: str) -> bool:
    """Whether an attempt writes on its base now."""
    row = select(writers.c.attempt_id).where(_of(world, attempt), writers.c.left_tick.is_(None))
    return tx.execute(row).scalar() is not None


def write(tx: Tx, world: WorldId, tick: int, decision: Writing) -> None:
    """Say that an attempt became a writer, has an open request, or is a writer no longer."""
    match decision:
        case WriterEntered(attempt, repository, base, bound):
            row = {"repository_id": repository, "base": base, "bound": bound, "tick": tick}
            tx.execute(insert(writers).values(world_id=world, attempt_id=attempt, **row))
        case WriterStays(attempt, request):
            tx.execute(update(writers).where(_of(world, attempt)).values(request=request))
        case WriterLeft(attempt, because, sha):
            left = {"left_tick": tick, "left_because": because, "left_sha": sha}
            tx.execute(update(writers).where(_of(world, attempt)).values(left))
        case _:
            assert_never(decision)


def set_waiting(tx: Tx, world: WorldId, waits: StepWaits) -> None:
    """Let a step wait, from its first wait on, or wait no longer."""
    since = None if waits.bound is None else func.coalesce(steps.c.waits_since, clock.now())
    at = None if waits.bound is None else waits.at
    tx.execute(
        update(steps).where(steps.c.world_id == world, steps.c.attempt_id == waits.attempt)
        .where(steps.c.name == waits.step)
        .values(waits_for=waits.bound, waits_at=at, waits_since=since)
    )  # fmt: skip


def seen_tip(tx: Tx, world: WorldId, repository: str, base: str, after: int) -> str | None:
    """The base's commit as it was last seen, if that was after a tick."""
    found: str | None = tx.execute(
        select(writers.c.left_sha)
        .where(writers.c.world_id == world, writers.c.repository_id == repository)
        .where(writers.c.base == base, writers.c.left_sha.is_not(None), writers.c.left_tick > after)
        .order_by(writers.c.left_tick.desc()).limit(1)
    ).scalar()  # fmt: skip
    return found


def somebody_waits(tx: Tx, world: WorldId, place: Place, before: datetime | None) -> bool:
    """Whether a step waits at a place, and began to before a moment, where one is given."""
    query = select(steps.c.attempt_id).where(
        steps.c.world_id == world, steps.c.waits_for == place.bound, steps.c.waits_at == place.at
    )
    if before is not None:
        query = query.where(steps.c.waits_since < before)
    return tx.execute(query.limit(1)).scalar() is not None


def count_before(tx: Tx, world: WorldId, place: Place, since: datetime) -> int:
    """How many steps have waited longer at a place."""
    return tx.execute(
        select(func.count()).select_from(steps)
        .where(steps.c.world_id == world, steps.c.waits_for == place.bound)
        .where(steps.c.waits_at == place.at, steps.c.waits_since < since)
    ).scalar_one()  # fmt: skip


def places(tx: Tx, world: WorldId) -> list[Place]:
    """Where steps of a world wait; the one that waits longest first."""
    rows = tx.execute(
        select(steps.c.waits_for, steps.c.waits_at)
        .where(steps.c.world_id == world, steps.c.waits_for.is_not(None))
        .group_by(steps.c.waits_for, steps.c.waits_at).order_by(func.min(steps.c.waits_since))
    )  # fmt: skip
    return [Place(Bound(row.waits_for), row.waits_at) for row in rows]


def first(tx: Tx, world: WorldId, place: Place) -> str | None:
    """The attempt that has waited longest at a place."""
    found: str | None = tx.execute(
        select(steps.c.attempt_id)
        .where(steps.c.world_id == world, steps.c.waits_for == place.bound)
        .where(steps.c.waits_at == place.at)
        .order_by(steps.c.waits_since, steps.c.attempt_id).limit(1)
    ).scalar()  # fmt: skip
    return found


def awaited(tx: Tx) -> list[Awaited]:
    """The open requests of bases on which somebody waits, in every world."""
    somebody = exists().where(
        steps.c.world_id == writers.c.world_id, steps.c.waits_for == Bound.MERGE,
        steps.c.waits_at == writers.c.repository_id + " " + writers.c.base,
    )  # fmt: skip
    rows = tx.execute(
        select(
            writers.c.world_id,
            writers.c.attempt_id,
            writers.c.repository_id,
            writers.c.base,
            writers.c.request,
        )
        .where(writers.c.left_tick.is_(None), writers.c.request.is_not(None), somebody)
        .order_by(writers.c.world_id, writers.c.tick)
    )
    return [Awaited(WorldId(row[0]), *row[1:]) for row in rows]


def _at_work(tx: Tx, world: WorldId, beside: str, repository: str | None = None) -> int:
    query = (
        select(func.count(steps.c.attempt_id.distinct()))
        .where(steps.c.world_id == world, steps.c.attempt_id != beside)
        .where(steps.c.state == StepState.DISPATCHED)
        .where(*(steps.c.kind != one for one in NOT_AT_WORK))
    )
    if repository is not None:
        query = (
            query.join(attempts, _same(attempts, steps, "attempt_id"))
            .join(tasks, _same(tasks, attempts, "task_id"))
            .join(work_orders, _same(work_orders, tasks, "work_order_id"))
            .where(work_orders.c.repository_id == repository)
        )
    return tx.execute(query).scalar_one()


def _same(one: Table, other: Table, name: str) -> ColumnElement[bool]:
    return and_(one.c.world_id == other.c.world_id, one.c[name] == other.c[name])


def _of(world: WorldId, attempt: str) -> ColumnElement[bool]:
    return and_(writers.c.world_id == world, writers.c.attempt_id == attempt)


def _here(world: WorldId, repository: str, base: str) -> ColumnElement[bool]:
    return and_(
        writers.c.world_id == world, writers.c.repository_id == repository,
        writers.c.base == base, writers.c.left_tick.is_(None),
    )  # fmt: skip
