"""Recorded results are handed to their worlds, until observed (A05)."""

from __future__ import annotations

from collections import defaultdict

from app.dispatcher.loop import each
from app.domain.identity import WorldId
from app.domain.result import ResultRef
from app.store import batches
from app.store.engine import Store
from app.transitions.stage import stage


def turn(store: Store) -> int:
    """Stage every result that has no batch, those of a world together."""
    with store.ask() as tx:
        waiting = batches.unstaged(tx)
    of_world: dict[WorldId, list[ResultRef]] = defaultdict(list)
    for result in waiting:
        of_world[result.key.world].append(result)
    each(of_world.values(), lambda those: stage(store, those))
    return len(waiting)
