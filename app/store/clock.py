"""The only clock: the database's wall clock, read after any lock was waited for."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, func, select

from app.store.engine import Tx


def now() -> ColumnElement[datetime]:
    """The wall clock, in a statement (not the transaction's start: it may have waited)."""
    return func.clock_timestamp()


def read(tx: Tx) -> datetime:
    """The wall clock, as a value."""
    found: datetime = tx.execute(select(now())).scalar_one()
    return found
