"""Idempotency keys: what was asked under each, and what was answered (T06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import insert, select

from app.domain.digest import Digest, Json, canonical, stored
from app.domain.identity import WorldId
from app.store.engine import Tx
from app.store.schema import idempotency_keys


@dataclass(frozen=True, slots=True)
class Known:
    """A key that was used."""

    request: Digest
    answer: Mapping[str, Json]


def find(tx: Tx, world: WorldId, key: str) -> Known | None:
    """What this key was used for; the world's row is locked already."""
    row = tx.execute(
        select(idempotency_keys)
        .where(idempotency_keys.c.world_id == world, idempotency_keys.c.key == key)
    ).one_or_none()  # fmt: skip
    if row is None:
        return None
    return Known(row.request_digest, stored(row.answer))


def keep(
    tx: Tx, world: WorldId, key: str, request: Digest, answer: Mapping[str, Json], tick: int
) -> None:
    """Write a key down, with its answer."""
    tx.execute(
        insert(idempotency_keys).values(
            world_id=world, key=key, request_digest=request, answer=canonical(answer), tick=tick
        )
    )
