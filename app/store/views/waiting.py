"""Why a step that is ready does not begin (O08)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from app.domain.bounds import Bound, bound_of, limits_of
from app.domain.identity import WorldId
from app.store import bounds, worlds
from app.store.board import work_order
from app.store.bounds import Place
from app.store.engine import Tx
from app.store.schema import steps, writers


@dataclass(frozen=True, slots=True)
class WriterSeen:
    """An attempt that keeps others from its base."""

    attempt: str
    bound: int  #: writers that it suffers, itself included
    request: int | None  #: its open request; None: it is still at work


@dataclass(frozen=True, slots=True)
class WaitSeen:
    """One step that waits for a place."""

    step: str
    bound: Bound
    since: datetime
    base: str  #: where the bound is a base's
    own: int  #: writers that it suffers there itself
    at_work: int  #: attempts, of the world or the repository
    limit: int | None  #: of those
    writers: tuple[WriterSeen, ...]  #: of the base
    before: int  #: steps that have waited longer at the same place


def waits_of(tx: Tx, world: str, attempt: str, order: str) -> tuple[WaitSeen, ...]:
    """What the steps of an attempt of a work order wait for."""
    own = bound_of(work_order(tx, WorldId(world), order).specification)
    rows = tx.execute(
        select(steps.c.name, steps.c.waits_for, steps.c.waits_at, steps.c.waits_since)
        .where(steps.c.world_id == world, steps.c.attempt_id == attempt)
        .where(steps.c.waits_for.is_not(None)).order_by(steps.c.position)
    ).all()  # fmt: skip
    return tuple(
        _seen(tx, WorldId(world), row.name, Place(Bound(row.waits_for), row.waits_at),
              row.waits_since, own)
        for row in rows
    )  # fmt: skip


def _seen(tx: Tx, world: WorldId, step: str, place: Place, since: datetime, own: int) -> WaitSeen:
    limits = limits_of(worlds.settings(tx, world))
    load = bounds.load(tx, world, limits, place.repository, place.base)
    is_worlds = place.bound is Bound.WORLD
    return WaitSeen(
        step, place.bound, since, place.base, own,
        load.world if is_worlds else load.repository,
        limits.world if is_worlds else limits.repository,
        _writers(tx, world, place) if place.base else (),
        bounds.count_before(tx, world, place, since),
    )  # fmt: skip


def _writers(tx: Tx, world: WorldId, place: Place) -> tuple[WriterSeen, ...]:
    rows = tx.execute(
        select(writers.c.attempt_id, writers.c.bound, writers.c.request)
        .where(writers.c.world_id == world, writers.c.repository_id == place.repository)
        .where(writers.c.base == place.base, writers.c.left_tick.is_(None))
        .order_by(writers.c.tick)
    )  # fmt: skip
    return tuple(WriterSeen(*row) for row in rows)
