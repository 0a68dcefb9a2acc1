"""Worlds tick while batches wait."""

from __future__ import annotations

from app.dispatcher.loop import each
from app.store import batches
from app.store.engine import Store
from app.transitions.tick import tick


def turn(store: Store) -> int:
    """One tick for every world in which a batch waits."""
    with store.ask() as tx:
        waiting = batches.worlds_with_batches(tx)
    return each(waiting, lambda world: tick(store, world))
