"""Settling: an activity's end, bound by a receipt's completion record to its recorded result."""

from __future__ import annotations

from app.domain.identity import ActivityId, ActivityKey, WorldId
from app.domain.world import Fact
from app.kinds.base import KindOf
from app.kinds.batch import IncompleteBinding, check_binding
from app.kinds.registry import KINDS
from app.store import results, worlds
from app.store.engine import Tx


def settle(tx: Tx, world: WorldId, tick: int, kind: KindOf, marker: Fact) -> ActivityKey | None:
    """Settle the activity whose facts this receipt binds (M11); None if it is settled already.

    A marker that does not agree with the result and with every fact of the receipt settles
    nothing: IncompleteBinding.
    """
    key = ActivityKey(world, kind.name, ActivityId(str(marker.value.get("activity"))))
    result = results.find(tx, key)
    if result is None:
        raise IncompleteBinding(f"{key} has no recorded result")
    facts, edges = worlds.facts_of(tx, world, tick), worlds.relations_of(tx, world, tick)
    dispatches = [one.dispatch for one in KINDS.values()]
    check_binding(marker, result, facts, edges, dispatches)
    return key if results.settle(tx, result, tick, marker.digest) else None
