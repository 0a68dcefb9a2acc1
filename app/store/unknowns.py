"""Unknowns: work whose outcome nothing proves, kept for a person."""

from __future__ import annotations

from sqlalchemy import insert, select

from app.domain.identity import ActivityKey
from app.store.engine import Tx
from app.store.fencing import keyed, of_key
from app.store.schema import activities, unknowns


def open_for_control(tx: Tx, key: ActivityKey, code: str, detail: str) -> None:
    """Hold an activity without a claim of one's own; its row is locked already."""
    fence = tx.execute(select(activities.c.fence).where(of_key(activities, key))).scalar_one()
    tx.execute(insert(unknowns).values(**keyed(key), fence=fence, code=code, detail=detail))


def find_open(tx: Tx, key: ActivityKey) -> tuple[str, str] | None:
    """Code and detail of the open unknown of an activity."""
    row = tx.execute(
        select(unknowns.c.code, unknowns.c.detail)
        .where(of_key(unknowns, key), unknowns.c.decided_at.is_(None))
    ).one_or_none()  # fmt: skip
    return (row.code, row.detail) if row else None
