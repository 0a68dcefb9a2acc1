"""Queues between Postgres and Redis, both depths side by side, and what holds them (Q02)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select

from app.domain.identity import Kind
from app.domain.window import QueueState, state
from app.kinds.registry import KINDS
from app.store import clock, limits, outbox
from app.store.dead_letters import is_open
from app.store.engine import Tx
from app.store.limits import Decision, Limits
from app.store.schema import dead_letters, deliveries
from app.store.views.age import age

#: A message that left an empty queue is claimed within milliseconds, or it was lost.
GRACE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Redis:
    """What Redis said; nothing where it does not answer."""

    depths: Mapping[Kind, int]
    slots: int = 0  #: of all live workers


#: What is known of a Redis that does not answer.
SILENT = Redis({})


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One queue."""

    queue: Kind
    state: QueueState
    waiting: int  #: in Postgres, not sent
    redis: int | None  #: messages; None: Redis does not answer
    out: int  #: sent or being sent, and not claimed
    running: int  #: live claims
    oldest: timedelta | None  #: of what could have been claimed and was not
    dead: int  #: dead letters that nobody has replayed or dismissed
    window: int
    most_running: int | None
    pause: Decision | None
    missing: int  #: deliveries sent some time ago that have no message
    surplus: int  #: messages beyond the deliveries that are out: doubled, superseded, or foreign


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues, and what bounds them together."""

    queues: tuple[QueueLine, ...]
    most_running: int | None
    limits: tuple[Decision, ...]  #: that hold; lifted ones are left out


def queues_seen(tx: Tx, redis: Redis) -> Queues:
    """Every queue as Postgres knows it, beside what Redis said just before."""
    decided, loads = limits.current(tx), outbox.loads(tx, redis.depths)
    left, dead = decided.left(loads), _dead(tx)
    lines = []
    for kind in KINDS:
        load, bounds = loads[kind], decided.bounds(kind, redis.slots, left)
        waiting, oldest, overdue = _waiting(tx, kind)
        depth = redis.depths.get(kind)
        lines.append(
            QueueLine(
                kind, state(bounds, load), waiting, depth, load.out, load.running, oldest,
                dead.get(kind, 0), bounds.window, bounds.most_running, decided.pause(kind),
                missing=0 if depth is None else max(0, overdue - depth),
                surplus=0 if depth is None else max(0, depth - load.out),
            )
        )  # fmt: skip
    return Queues(tuple(lines), decided.running(None), holding(decided))


def holding(decided: Limits) -> tuple[Decision, ...]:
    """The decisions that hold, oldest first; lifted ones are left out."""
    found = [one for one in decided.decisions.values() if one.value is not None]
    return tuple(sorted(found, key=lambda one: one.at))


def _waiting(tx: Tx, kind: Kind) -> tuple[int, timedelta | None, int]:
    """How many wait, the age of the oldest that nobody claimed, how many were sent long ago."""
    is_open = deliveries.c.claimed_fence.is_(None) & deliveries.c.replaced_at.is_(None)
    of_queue = (deliveries.c.kind == kind) & is_open
    first = func.min(deliveries.c.not_before).filter(deliveries.c.not_before <= clock.now())
    sent_before = deliveries.c.published_at <= clock.now() - GRACE
    is_sent = deliveries.c.published_at.is_not(None)
    # apart, so that each has an index of its own
    unsent = select(func.count(), age(first)).where(of_queue, ~is_sent)
    out = select(func.count().filter(sent_before), age(func.min(deliveries.c.not_before)))
    (waiting, oldest), (overdue, older) = (
        tuple[int, timedelta | None](tx.execute(query).one())
        for query in (unsent, out.where(of_queue, is_sent))
    )
    return waiting, max((one for one in (oldest, older) if one), default=None), overdue


def _dead(tx: Tx) -> dict[str, int]:
    of = func.coalesce(dead_letters.c.kind, dead_letters.c.queue)
    rows = tx.execute(select(of, func.count()).where(is_open()).group_by(of))
    return {row[0]: row[1] for row in rows}
