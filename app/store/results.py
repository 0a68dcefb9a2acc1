"""Results, once recorded, are immutable; their batches and settlements follow from them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Row, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.digest import Digest, digest
from app.domain.errors import DigestConflict
from app.domain.identity import ActivityId, ActivityKey, Claim, Fence, Kind, WorldId
from app.domain.result import Observation, Outcome, ResultRef
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import fenced, keyed, of_key, present
from app.store.schema import ends, payloads, results, settlements, staged_batches


def find(tx: Tx, key: ActivityKey) -> ResultRef | None:
    """The recorded result of an activity."""
    row = tx.execute(select(results).where(of_key(results, key))).one_or_none()
    return ResultRef(key, Fence(row.fence), row.digest, Outcome(row.outcome)) if row else None


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
    rows = tx.execute(
        select(results)
        .join(
            ends,
            (ends.c.world_id == results.c.world_id)
            & (ends.c.kind == results.c.kind)
            & (ends.c.activity_id == results.c.activity_id),
        )
        .where(ends.c.staged_at.is_(None))
        .order_by(ends.c.ended_at).limit(limit)
    )  # fmt: skip
    return [
        ResultRef(_key(row), Fence(row.fence), row.digest, Outcome(row.outcome)) for row in rows
    ]


def stage(tx: Tx, result: ResultRef, batch: bytes) -> bool:
    """Hand a result's batch to its world; restaging the same is a no-op, also after consumption."""
    added = tx.execute(
        upsert(staged_batches)
        .values(**keyed(result.key), result_digest=result.digest, bytes=batch, digest=digest(batch))
        .on_conflict_do_nothing().returning(staged_batches.c.activity_id)
    ).scalar()  # fmt: skip
    tx.execute(
        update(ends).where(of_key(ends, result.key), ends.c.staged_at.is_(None))
        .values(staged_at=clock.now())
    )  # fmt: skip
    return added is not None


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch that waits for the next tick."""

    key: ActivityKey
    result: Digest
    bytes: bytes


def worlds_with_batches(tx: Tx) -> list[WorldId]:
    """Worlds in which a batch waits."""
    found = tx.execute(
        select(staged_batches.c.world_id).where(staged_batches.c.consumed_tick.is_(None)).distinct()
    ).scalars()
    return [WorldId(world) for world in found]


def waiting_batches(tx: Tx, world: WorldId, limit: int = 50) -> list[StagedBatch]:
    """A world's batches that no tick has consumed; the world's row is locked already."""
    rows = tx.execute(
        select(staged_batches)
        .where(staged_batches.c.world_id == world, staged_batches.c.consumed_tick.is_(None))
        .order_by(staged_batches.c.staged_at).limit(limit)
    )  # fmt: skip
    return [StagedBatch(_key(row), row.result_digest, bytes(row.bytes)) for row in rows]


def consume(tx: Tx, batch: StagedBatch, tick: int) -> None:
    """Say which tick made a batch visible; its identity stays."""
    tx.execute(
        update(staged_batches).where(of_key(staged_batches, batch.key))
        .where(staged_batches.c.result_digest == batch.result).values(consumed_tick=tick)
    )  # fmt: skip


def settle(tx: Tx, result: ResultRef, tick: int, marker: Digest) -> bool:
    """Insert the settlement; the exact one again is a no-op, another is DigestConflict (M13)."""
    added = tx.execute(
        upsert(settlements)
        .values(**keyed(result.key), result_digest=result.digest, tick=tick, marker_digest=marker)
        .on_conflict_do_nothing().returning(settlements.c.activity_id)
    ).scalar()  # fmt: skip
    if added is None:
        row = tx.execute(select(settlements).where(of_key(settlements, result.key))).one()
        if (row.result_digest, row.tick, row.marker_digest) != (result.digest, tick, marker):
            raise DigestConflict(f"{result.key} is settled by another receipt")
    return added is not None


def _same_or_conflict(known: ResultRef, observation: Observation) -> ResultRef:
    if known.digest != observation.digest:
        raise DigestConflict(f"{known.key} has another result")
    return known


def _key(row: Row[tuple[object, ...]]) -> ActivityKey:
    return ActivityKey(WorldId(row.world_id), Kind(row.kind), ActivityId(row.activity_id))
