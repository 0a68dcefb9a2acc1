"""Receipts become activities and settlements."""

from __future__ import annotations

from datetime import timedelta

from app.dispatcher.loop import each
from app.store import worlds
from app.store.engine import Store
from app.transitions.admit import PROJECTOR, project


def turn(store: Store, lease: timedelta | None) -> int:
    """Project the next receipt of every world that is behind."""
    with store.begin() as tx:
        behind = worlds.behind(tx, PROJECTOR)
    return each(behind, lambda one: project(store, *one, lease))
