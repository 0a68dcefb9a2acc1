"""Refusing more work than may wait in a world."""

from __future__ import annotations

from app.domain.errors import WorldFull
from app.domain.identity import WorldId
from app.store import limits
from app.store.engine import Tx


def check_waiting(tx: Tx, world: WorldId) -> None:
    """Raise WorldFull where as much waits as may; the world's row is locked (Q02)."""
    most = limits.most_waiting(tx, world)
    if most is None:
        return
    waits = limits.waiting_work(tx, world)
    if waits >= most:
        raise WorldFull(f"{waits} pieces of work wait in world {world}, and {most} may")
