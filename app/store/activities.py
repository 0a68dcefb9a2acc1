"""Activities: the immutable request, and the two columns in which authority lives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Interval, cast, select, text, true, update

from app.domain.digest import Digest, canonical, digest
from app.domain.errors import DigestConflict, NotFound
from app.domain.identity import ActivityId, ActivityKey, Fence, Kind, WorldId
from app.domain.recovery import Stop
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import among, of_key
from app.store.schema import activities, attempts, claims, facts, results, tasks, unknowns


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


@dataclass(frozen=True, slots=True)
class Admission:
    """An activity as a receipt dispatched it."""

    key: ActivityKey
    attempt: str
    request: bytes
    tick: int
    lease: timedelta
    most_starts: int
    deadline: timedelta  #: of its first delivery


def admit(tx: Tx, those: Sequence[Admission]) -> list[Admission]:
    """Insert activities; the same request again is a no-op, another is DigestConflict (M03).

    Returned are those that are new. Each refers to its world's row, for which a cancel waits: after
    this, a cancel is either to be seen, or will find them.
    """
    added = tx.execute(
        _ADMIT,
        {
            "worlds": [one.key.world for one in those], "kinds": [one.key.kind for one in those],
            "activities": [one.key.activity for one in those],
            "attempts": [one.attempt for one in those], "ticks": [one.tick for one in those],
            "requests": [one.request for one in those],
            "digests": [bytes.fromhex(digest(one.request)) for one in those],
            "leases": [one.lease for one in those], "most": [one.most_starts for one in those],
        },
    )  # fmt: skip
    new = {ActivityKey(WorldId(row[0]), Kind(row[1]), ActivityId(row[2])) for row in added}
    if len(new) < len(those):
        _require_same(tx, those)
    return list({one.key: one for one in those if one.key in new}.values())


#: A hundred rows cost little more than one: nothing is rendered for each.
_ADMIT = text("""
insert into fencepost.activities (world_id, kind, activity_id, attempt_id, request, request_digest,
                                  tick, lease, most_starts)
select * from unnest(cast(:worlds as text[]), cast(:kinds as text[]), cast(:activities as text[]),
                     cast(:attempts as text[]), cast(:requests as bytea[]),
                     cast(:digests as bytea[]), cast(:ticks as bigint[]),
                     cast(:leases as interval[]), cast(:most as integer[]))
on conflict do nothing returning world_id, kind, activity_id
""")


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


def asked_to_end(tx: Tx, world: WorldId, those: Collection[str], request: str) -> set[str]:
    """Those of these attempts of which some receipt holds a request (its component) to end."""
    rows = tx.execute(
        select(attempts.c.attempt_id, facts.c.value)
        .join(tasks, (tasks.c.world_id == attempts.c.world_id)
              & (tasks.c.task_id == attempts.c.task_id))
        .join(facts, (facts.c.world_id == tasks.c.world_id)
              & (facts.c.entity_id == tasks.c.entity_id))
        .where(attempts.c.world_id == world, attempts.c.attempt_id.in_(those))
        .where(facts.c.component == request)
    )  # fmt: skip
    return {row[0] for row in rows if row[1] == canonical({"attempt": row[0]})}


def set_stop(tx: Tx, key: ActivityKey, stop: Stop) -> None:
    """Ask that nothing starts any more; an earlier request stands."""
    tx.execute(
        update(activities)
        .where(of_key(activities, key), activities.c.stop.is_(None))
        .values(stop=stop)
    )


def age(tx: Tx, key: ActivityKey) -> timedelta:
    """For how long it has been admitted, by the database's clock."""
    since = cast(clock.now() - activities.c.admitted_at, Interval)
    return tx.execute(select(since).where(of_key(activities, key))).scalar_one()


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


def _require_same(tx: Tx, those: Sequence[Admission]) -> None:
    keys = [one.key for one in those]
    own = (activities.c.world_id, activities.c.kind, activities.c.activity_id)
    rows = tx.execute(select(*own, activities.c.request_digest).where(among(activities, keys)))
    known = {(row[0], row[1], row[2]): row[3] for row in rows}
    for one in those:
        if known[one.key.world, one.key.kind, one.key.activity] != digest(one.request):
            raise DigestConflict(f"{one.key} was admitted with another request")
