"""Why an activity that was admitted is not running."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select

from app.domain.identity import ActivityKey, Kind
from app.domain.window import Bounds, Load, QueueState, state
from app.store import activities, clock, limits, outbox
from app.store.engine import Tx
from app.store.fencing import of_key
from app.store.schema import deliveries, unknowns
from app.store.views.queues import SILENT, Redis


class Why(StrEnum):
    """What an activity waits for."""

    HELD = "held"  #: a person's decision
    REAPER = "reaper"  #: its next delivery, which the reaper makes
    PAUSED = "queue paused"
    LATER = "not before"  #: its pause before another look or try
    LIMIT = "limit reached"
    FULL = "window full"
    TURN = "turn"  #: the next turn of the relay, or of its world
    SENDING = "sending"  #: the dispatcher is about to send it, or died when it was
    SLOT = "free slot"  #: its message is in Redis, and no worker has taken it yet


@dataclass(frozen=True, slots=True)
class Delay:
    """Why, and what a person may want to know of it."""

    why: Why
    since: datetime | None
    until: datetime | None = None
    detail: str = ""  #: who paused the queue and why, which limit, how many are before it


def delay_of(tx: Tx, key: ActivityKey, redis: Redis = SILENT) -> Delay | None:
    """What an activity waits for; None: it runs, it has its result, or nobody admitted it."""
    if not activities.is_waiting(tx, key):
        return _held(tx, key)
    sent = tx.execute(
        select(deliveries, clock.now().label("now")).where(of_key(deliveries, key))
        .where(deliveries.c.claimed_fence.is_(None), deliveries.c.replaced_at.is_(None))
    ).one_or_none()  # fmt: skip
    if sent is None:
        known = tx.execute(select(deliveries.c.number).where(of_key(deliveries, key)).limit(1))
        return Delay(Why.REAPER, None) if known.first() else None
    if sent.published_at is not None:
        why = Why.SLOT if sent.sending_until is None else Why.SENDING
        return Delay(why, sent.published_at)
    return _unsent(tx, key.kind, sent, redis)


def _held(tx: Tx, key: ActivityKey) -> Delay | None:
    row = tx.execute(
        select(unknowns.c.opened_at, unknowns.c.code)
        .where(of_key(unknowns, key), unknowns.c.decided_at.is_(None))
    ).one_or_none()  # fmt: skip
    return None if row is None else Delay(Why.HELD, row.opened_at, detail=row.code)


def _unsent(tx: Tx, queue: Kind, sent: Any, redis: Redis) -> Delay:
    decided, loads = limits.current(tx), outbox.loads(tx, redis.depths)
    if pause := decided.pause(queue):
        return Delay(Why.PAUSED, pause.at, detail=f"by {pause.by}: {pause.reason}")
    if sent.not_before > sent.now:
        return Delay(Why.LATER, sent.created_at, sent.not_before)
    bounds, load = decided.bounds(queue, redis.slots, decided.left(loads)), loads[queue]
    if state(bounds, load) is QueueState.LIMITED:
        return Delay(Why.LIMIT, sent.not_before, detail=_limit(queue, bounds, load))
    why = Why.FULL if state(bounds, load) is QueueState.FULL else Why.TURN
    return Delay(why, sent.not_before, detail=f"{_before(tx, sent)} of its world before it")


def _limit(queue: Kind, bounds: Bounds, load: Load) -> str:
    under_way = load.out + load.running
    if bounds.most_running is not None and under_way >= bounds.most_running:
        return f"{under_way} of {bounds.most_running} in {queue}"
    return "as many run in all queues together as may"


def _before(tx: Tx, sent: Any) -> int:
    """How many deliveries of its world come first."""
    more_urgent = deliveries.c.priority < sent.priority
    earlier = (deliveries.c.priority == sent.priority) & (deliveries.c.not_before < sent.not_before)
    return tx.execute(
        select(func.count()).select_from(deliveries)
        .where(deliveries.c.kind == sent.kind, deliveries.c.world_id == sent.world_id)
        .where(deliveries.c.published_at.is_(None), deliveries.c.claimed_fence.is_(None))
        .where(deliveries.c.replaced_at.is_(None), deliveries.c.not_before <= clock.now())
        .where(more_urgent | earlier)
    ).scalar_one()  # fmt: skip
