"""Receipts become activities and settlements."""

from __future__ import annotations

from datetime import timedelta

from app.dispatcher.loop import each
from app.domain.identity import WorldId
from app.store import receipts
from app.store.engine import Store
from app.transitions.admit import PROJECTOR, project


def turn(store: Store, lease: timedelta | None) -> int:
    """Project the receipts of every world that is behind, a hundred at most of each."""
    with store.ask() as tx:
        behind = receipts.behind(tx, PROJECTOR)
    return each(behind, lambda one: _project(store, *one, lease))


def _project(store: Store, world: WorldId, ticks: range, lease: timedelta | None) -> int:
    project(store, world, ticks, lease)
    return len(ticks)
