"""Settling: an activity's end, bound by a receipt's completion record to its recorded result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.identity import ActivityId, ActivityKey, WorldId
from app.domain.result import ResultRef
from app.domain.world import Fact
from app.events import Moment
from app.kinds.base import KindOf
from app.kinds.batch import Committed, IncompleteBinding
from app.kinds.registry import KINDS
from app.store import receipts, results
from app.store.engine import Tx
from app.store.results import Settlement

Said = tuple[Moment, dict[str, str | int]]  #: what will be told once this is committed


@dataclass(frozen=True, slots=True)
class Marked:
    """A completion record in a receipt."""

    tick: int
    kind: KindOf
    marker: Fact

    def key(self, world: WorldId) -> ActivityKey:
        """The activity that it names."""
        return ActivityKey(
            world, self.kind.name, ActivityId(str(self.marker.value.get("activity")))
        )


def settle(tx: Tx, world: WorldId, those: Sequence[Marked]) -> list[Said]:
    """Settle the activities whose facts these receipts bind (M11); a settled one is left alone.

    A marker that does not agree with the result and with every fact of its receipt settles nothing
    and is said aloud.
    """
    recorded = results.find_all(tx, [one.key(world) for one in those])
    found = receipts.listed(tx, world, {one.tick for one in those})
    committed = {tick: Committed(all_of.facts, all_of.relations) for tick, all_of in found.items()}
    bound: list[Settlement] = []
    said: list[Said] = []
    for one in those:
        try:
            result = _bound(one, one.key(world), recorded, committed[one.tick])
        except IncompleteBinding as fault:
            facts: dict[str, str | int] = {"world": world, "tick": one.tick, "what": fault.message}
            said.append((Moment.TROUBLE, facts))
        else:
            bound.append(Settlement(result, one.tick, one.marker.digest))
    settled = results.settle(tx, bound) if bound else []
    return said + [
        (Moment.SETTLED, {**one.result.key.facts(), "tick": one.tick}) for one in settled
    ]


def _bound(
    one: Marked, key: ActivityKey, recorded: Mapping[ActivityKey, ResultRef], committed: Committed
) -> ResultRef:
    if key not in recorded:
        raise IncompleteBinding(f"{key} has no recorded result")
    dispatches = [kind.dispatch for kind in KINDS.values()]
    committed.check(one.marker, recorded[key], dispatches)
    return recorded[key]
