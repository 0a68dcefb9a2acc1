"""Batches: recorded results on their way into their worlds (PROTOCOL §8)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, Select, Table, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql import ColumnElement

from app.domain.digest import digest
from app.domain.identity import WorldId
from app.domain.result import ResultRef
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import among, keyed
from app.store.results import key_of, reference
from app.store.schema import activities, ends, payloads, results, staged_batches


def unstaged(tx: Tx, limit: int = 200) -> list[ResultRef]:
    """Recorded results that have no batch yet, oldest first."""
    return [reference(row) for row in tx.execute(_unstaged(), {"most": limit})]


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
    new = {key_of(row) for row in added}
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
        StagedBatch(reference(row), row.attempt_id, bytes(row.request), bytes(row.bytes))
        for row in rows
    ]


def consume(tx: Tx, those: Sequence[ResultRef], tick: int) -> None:
    """Say which tick made batches visible; their identity stays."""
    tx.execute(
        update(staged_batches).where(among(staged_batches, [one.key for one in those]))
        .where(staged_batches.c.consumed_tick.is_(None)).values(consumed_tick=tick)
    )  # fmt: skip


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
