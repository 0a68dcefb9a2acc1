"""Deliveries: the outbox. A row is one message for one activity; losing it changes no outcome."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from sqlalchemy import Table, func, insert, select, update
from sqlalchemy.sql import ColumnElement

from app.domain.delivery import Delivery
from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, Kind, WorldId
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import keyed, of_key
from app.store.schema import activities, claims, deliveries, results, unknowns


class Cause(StrEnum):
    """Why a delivery was made."""

    FIRST = "first"
    LOST_WORKER = "lost_worker"
    RELEASED = "released"
    UNCLAIMED = "unclaimed"
    WIPED = "wiped"
    EXPIRED = "expired"
    STOPPED = "stopped"
    DECIDED = "decided"


def add(
    tx: Tx, key: ActivityKey, cause: Cause, life: timedelta, delay: timedelta = timedelta(0)
) -> DeliveryNumber:
    """Append the activity's next delivery; the activity's row is locked, or was made just now."""
    newest = tx.execute(
        select(func.coalesce(func.max(deliveries.c.number), 0)).where(of_key(deliveries, key))
    ).scalar_one()
    number = DeliveryNumber(newest + 1)
    tx.execute(
        insert(deliveries).values(
            **keyed(key), number=number, cause=cause, not_before=clock.now() + delay,
            deadline=clock.now() + delay + life, priority=5,
        )
    )  # fmt: skip
    return number


def waiting(tx: Tx, kind: Kind, room: int) -> list[Delivery]:
    """The next to send; two relays may read the same, and a doubled message does no harm."""
    rows = tx.execute(
        select(deliveries, activities.c.attempt_id)
        .join(activities, _of_activity(deliveries))
        .where(deliveries.c.kind == kind, deliveries.c.published_at.is_(None))
        .where(deliveries.c.claimed_fence.is_(None), deliveries.c.replaced_at.is_(None))
        .where(deliveries.c.not_before <= clock.now())
        .order_by(deliveries.c.priority, deliveries.c.not_before)
        .limit(room)
    )
    return [
        Delivery(
            ActivityKey(WorldId(row.world_id), Kind(row.kind), ActivityId(row.activity_id)),
            DeliveryNumber(row.number), row.attempt_id,
        )
        for row in rows
    ]  # fmt: skip


def mark_published(tx: Tx, sent: Delivery) -> None:
    """Say that a message may be in Redis."""
    tx.execute(
        update(deliveries).where(of_key(deliveries, sent.key), deliveries.c.number == sent.number)
        .values(published_at=clock.now())
    )  # fmt: skip


def replace_open(tx: Tx, key: ActivityKey) -> bool:
    """Withdraw the delivery that is under way, if there is one; its message will be refused."""
    done = tx.execute(
        update(deliveries).where(of_key(deliveries, key))
        .where(deliveries.c.claimed_fence.is_(None), deliveries.c.replaced_at.is_(None))
        .values(replaced_at=clock.now()).returning(deliveries.c.number)
    )  # fmt: skip
    return done.scalar() is not None


def published_unclaimed(
    tx: Tx, kind: Kind, grace: timedelta, limit: int = 500
) -> list[ActivityKey]:
    """Activities whose message was sent longer ago than the grace, and that nobody claimed."""
    return _overdue(tx, kind, deliveries.c.published_at <= clock.now() - grace, limit)


def past_deadline(tx: Tx, kind: Kind, limit: int = 500) -> list[ActivityKey]:
    """Activities whose open delivery can no longer be claimed."""
    return _overdue(tx, kind, deliveries.c.deadline <= clock.now(), limit)


def undelivered(tx: Tx, limit: int = 500) -> list[tuple[ActivityKey, str | None, timedelta]]:
    """Activities that wait for nobody: no result, no open claim, no open delivery, not held.

    With each comes how its newest claim ended, and how long it must still wait.
    """
    newest = (
        select(claims.c.end_cause, claims.c.retry_at)
        .where(_of_activity(claims))
        .order_by(claims.c.fence.desc()).limit(1).lateral("newest")
    )  # fmt: skip
    wait = func.greatest(newest.c.retry_at - clock.now(), timedelta(0))
    rows = tx.execute(
        select(
            activities.c.world_id, activities.c.kind, activities.c.activity_id,
            newest.c.end_cause, func.coalesce(wait, timedelta(0)),
        )
        .join(newest, newest.c.end_cause.is_not(None), isouter=True)
        .where(~select(1).where(_of_activity(results)).exists())
        .where(~select(1).where(_of_activity(claims), claims.c.ended.is_(None)).exists())
        .where(~select(1).where(_of_activity(unknowns), unknowns.c.decided_at.is_(None)).exists())
        .where(
            ~select(1).where(_of_activity(deliveries), deliveries.c.claimed_fence.is_(None))
            .where(deliveries.c.replaced_at.is_(None)).exists()
        )
        .limit(limit)
    )  # fmt: skip
    return [(ActivityKey(WorldId(r[0]), Kind(r[1]), ActivityId(r[2])), r[3], r[4]) for r in rows]


def _overdue(tx: Tx, kind: Kind, condition: ColumnElement[bool], limit: int) -> list[ActivityKey]:
    rows = tx.execute(
        select(deliveries.c.world_id, deliveries.c.kind, deliveries.c.activity_id)
        .where(deliveries.c.kind == kind, deliveries.c.claimed_fence.is_(None))
        .where(deliveries.c.replaced_at.is_(None), condition)
        .limit(limit)
    )
    return [ActivityKey(WorldId(r[0]), Kind(r[1]), ActivityId(r[2])) for r in rows]


def _of_activity(table: Table) -> ColumnElement[bool]:
    """Correlates a table with the activity of the query around it."""
    return (
        (table.c.world_id == activities.c.world_id)
        & (table.c.kind == activities.c.kind)
        & (table.c.activity_id == activities.c.activity_id)
    )
