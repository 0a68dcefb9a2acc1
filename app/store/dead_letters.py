"""Dead letters: what could not be delivered, with its cause and its bytes or identity."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.identity import ActivityKey
from app.store.engine import Tx
from app.store.fencing import keyed
from app.store.schema import dead_letters


def add_activity(tx: Tx, key: ActivityKey, cause: str, detail: str) -> None:
    """Keep that an activity is dead; once an activity."""
    tx.execute(
        upsert(dead_letters)
        .values(**keyed(key), cause=cause, detail=detail)
        .on_conflict_do_nothing()
    )


def bury_bytes(tx: Tx, queue: str, cause: str, message: bytes) -> int:
    """Keep a message that is no delivery of ours, and return its number (Q04)."""
    number: int = tx.execute(select(func.fencepost.bury_bytes(queue, cause, message))).scalar_one()
    return number
