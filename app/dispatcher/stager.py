"""Recorded results are handed to their worlds, until observed (A05)."""

from __future__ import annotations

from app.dispatcher.loop import each
from app.store import results
from app.store.engine import Store
from app.transitions.stage import stage


def turn(store: Store) -> int:
    """Stage every result that has no batch."""
    with store.begin() as tx:
        waiting = results.unstaged(tx)
    return each(waiting, lambda result: stage(store, result))
