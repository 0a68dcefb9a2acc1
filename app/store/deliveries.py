"""Deliveries: the outbox. A row is one message for one activity; losing it changes no outcome."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import BindParameter, Table, bindparam, func, insert, select, text, update
from sqlalchemy.sql import ColumnElement

from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, Kind, WorldId
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import keyed, of_key
from app.store.schema import activities, claims, deliveries, results, unknowns

#: How a claim ends that leaves its work undone; an index knows them.
_GIVEN_UP: BindParameter[list[str]] = bindparam(
    "given_up", ["expired", "released", "held"], expanding=True, literal_execute=True
)


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
    REPLAYED = "replayed"


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


def add_first(tx: Tx, lives: Mapping[ActivityKey, timedelta]) -> None:
    """The first delivery of each of these activities, which were made just now."""
    tx.execute(
        _FIRST,
        {
            "worlds": [key.world for key in lives], "kinds": [key.kind for key in lives],
            "activities": [key.activity for key in lives], "lives": list(lives.values()),
            "cause": Cause.FIRST,
        },
    )  # fmt: skip


_FIRST = text("""
insert into fencepost.deliveries (world_id, kind, activity_id, number, cause, priority, not_before,
                                  deadline)
select world, kind, activity, 1, :cause, 5, now.moment, now.moment + life
  from unnest(cast(:worlds as text[]), cast(:kinds as text[]), cast(:activities as text[]),
              cast(:lives as interval[])) as new (world, kind, activity, life),
       (select clock_timestamp() as moment) as now
""")


def replace_open(tx: Tx, key: ActivityKey) -> bool:
    """Withdraw the delivery that is under way, if there is one; its message will be refused."""
    done = tx.execute(
        update(deliveries).where(of_key(deliveries, key))
        .where(deliveries.c.claimed_fence.is_(None), deliveries.c.replaced_at.is_(None))
        .values(replaced_at=clock.now()).returning(deliveries.c.number)
    )  # fmt: skip
    return done.scalar() is not None


def open_number(tx: Tx, key: ActivityKey) -> DeliveryNumber | None:
    """The delivery that is under way, if there is one."""
    found = tx.execute(
        select(deliveries.c.number).where(of_key(deliveries, key))
        .where(deliveries.c.claimed_fence.is_(None), deliveries.c.replaced_at.is_(None))
    ).scalar()  # fmt: skip
    return None if found is None else DeliveryNumber(found)


def was_any_sent(tx: Tx) -> bool:
    """Whether this installation ever gave a message to a Redis."""
    sent = select(1).where(deliveries.c.published_at.is_not(None)).exists()
    return bool(tx.execute(select(sent)).scalar_one())


def published_unclaimed(
    tx: Tx, kind: Kind, grace: timedelta, limit: int = 500
) -> list[ActivityKey]:
    """Activities whose message was sent longer ago than the grace, and that nobody claimed."""
    return _overdue(tx, kind, deliveries.c.published_at <= clock.now() - grace, limit)


def past_deadline(tx: Tx, kind: Kind, limit: int = 500) -> list[ActivityKey]:
    """Activities whose message can no longer be claimed; what was not sent has time enough."""
    return _overdue(tx, kind, deliveries.c.deadline <= clock.now(), limit)


def undelivered(tx: Tx, limit: int = 500) -> list[tuple[ActivityKey, str, timedelta]]:
    """Activities that wait for nobody: given up by their newest claim, not held, not delivered.

    With each comes how that claim ended, and how long it must still wait.
    """
    wait = func.greatest(claims.c.retry_at - clock.now(), timedelta(0))
    rows = tx.execute(
        select(
            activities.c.world_id, activities.c.kind, activities.c.activity_id,
            claims.c.end_cause, func.coalesce(wait, timedelta(0)),
        )
        .join(claims, _of_activity(claims) & (claims.c.fence == activities.c.fence))
        .where(claims.c.end_cause.in_(_GIVEN_UP))
        .where(~select(1).where(_of_activity(results)).exists())
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
        .where(deliveries.c.replaced_at.is_(None), deliveries.c.published_at.is_not(None))
        .where(condition)
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
