"""The installation's own name."""

from __future__ import annotations

from sqlalchemy import select

from app.store.engine import Tx
from app.store.schema import installation


def name(tx: Tx) -> str:
    """A random name, minted when the database was made."""
    found: str = tx.execute(select(installation.c.installation_id)).scalar_one()
    return found
