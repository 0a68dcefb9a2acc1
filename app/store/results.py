"""Results, once recorded, are immutable; their batches and settlements follow from them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Integer, Row, Select, Table, bindparam, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql import ColumnElement

from app.domain.digest import Digest, digest
from app.domain.errors import DigestConflict
from app.domain.identity import ActivityId, ActivityKey, Claim, Fence, Kind, WorldId
from app.domain.result import Observation, Outcome, ResultRef
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import among, fenced, keyed, of_key, present
from app.store.schema import activities, ends, payloads, results, settlements, staged_batches

AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"


def find(tx: Tx, key: ActivityKey) -> ResultRef | None:
    """The recorded result of an activity."""
    row = tx.execute(select(results).where(of_key(results, key))).one_or_none()
    return _reference(row) if row else None


def find_all(tx: Tx, keys: Collection[ActivityKey]) -> dict[ActivityKey, ResultRef]:
    """The recorded results of these activities, as far as there are any."""
    rows = tx.execute(select(results).where(among(results, keys)))
    return {one.key: one for one in map(_reference, rows)}


def payload(tx: Tx, world: WorldId, content: Digest) -> bytes:
    """The bytes behind a digest."""
    return bytes(
        tx.execute(
            select(payloads.c.bytes).where(
                payloads.c.world_id == world, payloads.c.digest == content
            )
        ).scalar_one()
    )


def record(tx: Tx, claim: Claim, observation: Observation) -> ResultRef:
    """Insert payload and result under the fence; the trigger ends claim and activity with it.

    Digests are compared first: an exact repeat returns the reference and writes nothing, another
    digest is DigestConflict; only then does the fence decide (L5, M13).
    """
    if known := find(tx, claim.key):
        return _same_or_conflict(known, observation)
    present(tx, claim)
    content = observation.digest
    tx.execute(
        upsert(payloads).values(**fenced(claim), digest=content, bytes=observation.bytes)
        .on_conflict_do_nothing()
    )  # fmt: skip
    tx.execute(insert(results).values(**fenced(claim), digest=content, outcome=observation.outcome))
    return ResultRef(claim.key, claim.fence, content, observation.outcome)


def unstaged(tx: Tx, limit: int = 200) -> list[ResultRef]:
    """Recorded results that have no batch yet, oldest first."""
    return [_reference(row) for row in tx.execute(_unstaged(), {"most": limit})]


def stage(tx: Tx, batches: Mapping[ResultRef, bytes]) -> list[ResultRef]:
    """Hand results' batches to their worlds, and return whose are new.

    Restaging the same is a no-op, also after consumption.
    """
    rows = [
        {**keyed(one.key), "result_digest": one.digest, "bytes": batch, "digest": digest(batch)}
        for one, batch in batches.items()
    ]
    added = tx.execute(
        upsert(staged_batches).on_conflict_do_nothing()
        .returning(staged_batches.c.world_id, staged_batches.c.kind, staged_batches.c.activity_id),
        rows,
    )  # fmt: skip
    new = {_key(row) for row in added}
    tx.execute(
        update(ends).where(among(ends, [one.key for one in batches]), ends.c.staged_at.is_(None))
        .values(staged_at=clock.now())
    )  # fmt: skip
    return [one for one in batches if one.key in new]


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch that waits for the next tick, with the activity's request and what was observed."""

    result: ResultRef
    attempt: str
    request: bytes
    observation: bytes


def worlds_with_batches(tx: Tx) -> list[WorldId]:
    """Worlds in which a batch waits."""
    return [WorldId(world) for world in tx.execute(_worlds_with_batches()).scalars()]


def waiting_batches(tx: Tx, world: WorldId, limit: int = 50) -> list[StagedBatch]:
    """A world's batches that no tick has consumed; the world's row is locked already."""
    rows = tx.execute(_waiting_batches(), {"world": world, "most": limit})
    return [
        StagedBatch(_reference(row), row.attempt_id, bytes(row.request), bytes(row.bytes))
        for row in rows
    ]


def consume(tx: Tx, those: Sequence[ResultRef], tick: int) -> None:
    """Say which tick made batches visible; their identity stays."""
    tx.execute(
        update(staged_batches).where(among(staged_batches, [one.key for one in those]))
        .where(staged_batches.c.consumed_tick.is_(None)).values(consumed_tick=tick)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settlement:
    """The end of an activity: the receipt whose marker binds its facts to its result."""

    result: ResultRef
    tick: int
    marker: Digest


def settle(tx: Tx, those: Sequence[Settlement]) -> list[Settlement]:
    """Insert settlements, and return those that are new.

    The exact one again is a no-op, another is DigestConflict (M13).
    """
    rows = [
        {
            **keyed(one.result.key), "result_digest": one.result.digest, "tick": one.tick,
            "marker_digest": one.marker,
        }
        for one in those
    ]  # fmt: skip
    added = tx.execute(
        upsert(settlements).on_conflict_do_nothing()
        .returning(settlements.c.world_id, settlements.c.kind, settlements.c.activity_id),
        rows,
    )  # fmt: skip
    new = {_key(row) for row in added}
    if len(new) < len(those):
        _require_same(tx, those)
    return [one for one in those if one.result.key in new]


def _require_same(tx: Tx, those: Sequence[Settlement]) -> None:
    rows = tx.execute(
        select(settlements).where(among(settlements, [one.result.key for one in those]))
    )
    known = {_key(row): (row.result_digest, row.tick, row.marker_digest) for row in rows}
    for one in those:
        if known[one.result.key] != (one.result.digest, one.tick, one.marker):
            raise DigestConflict(f"{one.result.key} is settled by another receipt")


@functools.cache
def _unstaged() -> Select[Any]:
    return (
        select(results)
        .join(
            ends,
            (ends.c.world_id == results.c.world_id)
            & (ends.c.kind == results.c.kind)
            & (ends.c.activity_id == results.c.activity_id),
        )
        .where(ends.c.staged_at.is_(None))
        .order_by(ends.c.ended_at).limit(bindparam("most", type_=Integer))
    )  # fmt: skip


@functools.cache
def _worlds_with_batches() -> Select[Any]:
    waits = staged_batches.c.consumed_tick.is_(None)
    return select(staged_batches.c.world_id).where(waits).distinct()


@functools.cache
def _waiting_batches() -> Select[Any]:
    own = (staged_batches.c.world_id, staged_batches.c.kind, staged_batches.c.activity_id)
    return (
        select(
            *own, results.c.fence, results.c.digest, results.c.outcome,
            activities.c.attempt_id, activities.c.request, payloads.c.bytes,
        )
        .join(results, _same_activity(results))
        .join(activities, _same_activity(activities))
        .join(payloads, (payloads.c.world_id == results.c.world_id)
              & (payloads.c.digest == results.c.digest))
        .where(staged_batches.c.world_id == bindparam("world"))
        .where(staged_batches.c.consumed_tick.is_(None))
        .where(staged_batches.c.result_digest == results.c.digest)
        .order_by(staged_batches.c.staged_at, staged_batches.c.activity_id)
        .limit(bindparam("most", type_=Integer))
    )  # fmt: skip


def _same_activity(table: Table) -> ColumnElement[bool]:
    """Correlates a table with the batches of the query around it."""
    return (
        (table.c.world_id == staged_batches.c.world_id)
        & (table.c.kind == staged_batches.c.kind)
        & (table.c.activity_id == staged_batches.c.activity_id)
    )


def _same_or_conflict(known: ResultRef, observation: Observation) -> ResultRef:
    if known.digest != observation.digest:
        raise DigestConflict(f"{known.key} has another result")
    return known


def _reference(row: AnyRow) -> ResultRef:
    return ResultRef(_key(row), Fence(row.fence), row.digest, Outcome(row.outcome))


def _key(row: AnyRow) -> ActivityKey:
    return ActivityKey(WorldId(row.world_id), Kind(row.kind), ActivityId(row.activity_id))
