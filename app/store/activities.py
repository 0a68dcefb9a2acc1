"""Activities: the immutable request, and the two columns in which authority lives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select, true, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.digest import Digest, digest
from app.domain.errors import DigestConflict, NotFound
from app.domain.identity import ActivityId, ActivityKey, Fence, Kind, WorldId
from app.domain.recovery import Stop
from app.store.engine import Tx
from app.store.fencing import keyed, of_key
from app.store.schema import activities, claims, results, unknowns


@dataclass(frozen=True, slots=True)
class Activity:
    """One external piece of work."""

    key: ActivityKey
    attempt: str
    request: bytes
    digest: Digest
    lease: timedelta
    fence: Fence
    stop: Stop | None


def admit(
    tx: Tx, key: ActivityKey, attempt: str, request: bytes, tick: int, lease: timedelta,
    most_starts: int,
) -> bool:  # fmt: skip
    """Insert an activity; the same request again is a no-op, another is DigestConflict (M03)."""
    added = tx.execute(
        upsert(activities).values(
            **keyed(key), attempt_id=attempt, request=request, request_digest=digest(request),
            tick=tick, lease=lease, most_starts=most_starts,
        )
        .on_conflict_do_nothing().returning(activities.c.activity_id)
    ).scalar()  # fmt: skip
    if added is None and get(tx, key).digest != digest(request):
        raise DigestConflict(f"{key} was admitted with another request")
    return added is not None


def get(tx: Tx, key: ActivityKey) -> Activity:
    """An activity; NotFound."""
    return _one(tx, key, lock=False)


def lock(tx: Tx, key: ActivityKey) -> Activity:
    """An activity, held against claims and fenced writes until the transaction ends."""
    return _one(tx, key, lock=True)


def of_attempt(tx: Tx, world: WorldId, attempt: str) -> list[ActivityKey]:
    """The activities of an attempt, oldest first."""
    rows = tx.execute(
        select(activities.c.kind, activities.c.activity_id)
        .where(activities.c.world_id == world, activities.c.attempt_id == attempt)
        .order_by(activities.c.admitted_at)
    )
    return [ActivityKey(world, Kind(row[0]), ActivityId(row[1])) for row in rows]


def set_stop(tx: Tx, key: ActivityKey, stop: Stop) -> None:
    """Ask that nothing starts any more; an earlier request stands."""
    tx.execute(
        update(activities)
        .where(of_key(activities, key), activities.c.stop.is_(None))
        .values(stop=stop)
    )


def canceled_untouched(tx: Tx, limit: int = 500) -> list[ActivityKey]:
    """Activities that were canceled before anybody claimed them."""
    rows = tx.execute(
        select(activities.c.world_id, activities.c.kind, activities.c.activity_id)
        .where(activities.c.stop == Stop.CANCEL, activities.c.fence == 0)
        .limit(limit)
    )
    return [ActivityKey(WorldId(row[0]), Kind(row[1]), ActivityId(row[2])) for row in rows]


def is_waiting(tx: Tx, key: ActivityKey) -> bool:
    """Whether it could be claimed: no result, no open claim, not held."""
    for table, is_open in (
        (results, true()),
        (claims, claims.c.ended.is_(None)),
        (unknowns, unknowns.c.decided_at.is_(None)),
    ):
        if tx.execute(
            select(table.c.activity_id).where(of_key(table, key), is_open).limit(1)
        ).first():
            return False
    return True


def _one(tx: Tx, key: ActivityKey, *, lock: bool) -> Activity:
    query = select(activities).where(of_key(activities, key))
    row = tx.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise NotFound(f"no activity {key}")
    return Activity(
        key, row.attempt_id, row.request, row.request_digest, row.lease, Fence(row.fence),
        Stop(row.stop) if row.stop else None,
    )  # fmt: skip
