"""Results, once recorded, are immutable; their batches and settlements follow from them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import (
    Insert,
    Row,
    Select,
    Text,
    bindparam,
    func,
    insert,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.digest import Digest
from app.domain.errors import DigestConflict, NotFound
from app.domain.identity import ActivityId, ActivityKey, Claim, Fence, Kind, WorldId
from app.domain.result import Observation, Outcome, ResultRef
from app.store.engine import Tx
from app.store.fencing import among, fenced, keyed, of_key
from app.store.schema import activities, payloads, results, settlements

AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"


def find(tx: Tx, key: ActivityKey) -> ResultRef | None:
    """The recorded result of an activity."""
    row = tx.execute(select(results).where(of_key(results, key))).one_or_none()
    return reference(row) if row else None


def find_all(tx: Tx, keys: Collection[ActivityKey]) -> dict[ActivityKey, ResultRef]:
    """The recorded results of these activities, as far as there are any."""
    rows = tx.execute(select(results).where(among(results, keys)))
    return {one.key: one for one in map(reference, rows)}


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
    return add(tx, claim, observation, presented(tx, claim)[1])


def presented(tx: Tx, claim: Claim) -> tuple[bytes, ResultRef | None]:
    """The activity's request and its result, if there is one; the claim's token is shown."""
    asked = {**keyed(claim.key), "token": claim.token}
    row = tx.execute(_presented(), asked).one_or_none()
    if row is None:
        raise NotFound(f"no activity {claim.key}")
    return bytes(row.request), reference(row) if row.digest else None


def add(tx: Tx, claim: Claim, observation: Observation, known: ResultRef | None) -> ResultRef:
    """As `record`, when `presented` has found this result, or none."""
    if known is not None:
        return _same_or_conflict(known, observation)
    content = observation.digest
    row = fenced(claim)
    tx.execute(_payload(), {**row, "digest": content, "bytes": observation.bytes})
    tx.execute(_result(), {**row, "digest": content, "outcome": observation.outcome})
    return ResultRef(claim.key, claim.fence, content, observation.outcome)


def deposit(tx: Tx, claim: Claim, observation: Observation) -> None:
    """Keep the payload under the fence before it is published; there is no result yet."""
    row = {**fenced(claim), "digest": observation.digest, "bytes": observation.bytes}
    tx.execute(_payload(), {**row, "deposited": True})


def deposited(tx: Tx, key: ActivityKey) -> list[tuple[Fence, bytes]]:
    """Every payload that a claim of the activity has kept first, the oldest first."""
    rows = tx.execute(
        select(payloads.c.fence, payloads.c.bytes)
        .where(of_key(payloads, key), payloads.c.deposited)
        .order_by(payloads.c.fence)
    )  # fmt: skip
    return [(Fence(row.fence), bytes(row.bytes)) for row in rows]


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
    new = {key_of(row) for row in added}
    if len(new) < len(those):
        _require_same(tx, those)
    return [one for one in those if one.result.key in new]


def _require_same(tx: Tx, those: Sequence[Settlement]) -> None:
    rows = tx.execute(
        select(settlements).where(among(settlements, [one.result.key for one in those]))
    )
    known = {key_of(row): (row.result_digest, row.tick, row.marker_digest) for row in rows}
    for one in those:
        if known[one.result.key] != (one.result.digest, one.tick, one.marker):
            raise DigestConflict(f"{one.result.key} is settled by another receipt")


@functools.cache
def _presented() -> Select[Any]:
    own = (activities.c.world_id, activities.c.kind, activities.c.activity_id)
    return (
        select(
            *own, activities.c.request, results.c.fence, results.c.digest, results.c.outcome,
            func.set_config("fencepost.token", bindparam("token", type_=Text), true()),
        )
        .outerjoin(results, tuple_(*own) == tuple_(*(results.c[one.name] for one in own)))
        .where(*(one == bindparam(one.name) for one in own))
    )  # fmt: skip


@functools.cache
def _payload() -> Insert:
    return upsert(payloads).on_conflict_do_nothing()


@functools.cache
def _result() -> Insert:
    return insert(results)


def _same_or_conflict(known: ResultRef, observation: Observation) -> ResultRef:
    if known.digest != observation.digest:
        raise DigestConflict(f"{known.key} has another result")
    return known


def reference(row: AnyRow) -> ResultRef:
    """The result of a row that has its key, fence, digest and outcome."""
    return ResultRef(key_of(row), Fence(row.fence), row.digest, Outcome(row.outcome))


def key_of(row: AnyRow) -> ActivityKey:
    """The activity of a row."""
    return ActivityKey(WorldId(row.world_id), Kind(row.kind), ActivityId(row.activity_id))
