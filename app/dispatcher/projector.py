"""Receipts become activities and settlements."""

from __future__ import annotations

from datetime import timedelta

from app.store import worlds
from app.store.engine import Store
from app.transitions.admit import PROJECTOR, project


def turn(store: Store, lease: timedelta | None) -> int:
    """Project the next receipt of every world that is behind."""
    with store.begin() as tx:
        behind = worlds.behind(tx, PROJECTOR)
    for world, tick in behind:
        project(store, world, tick, lease)
    return len(behind)
