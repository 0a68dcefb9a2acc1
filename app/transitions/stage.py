"""Staging: handing a recorded result to its world as one batch."""

from __future__ import annotations

from app.domain.digest import canonical
from app.domain.result import Outcome, ResultRef
from app.events import Moment, emit
from app.store import dead_letters, results
from app.store.engine import Store


def stage(store: Store, result: ResultRef) -> None:
    """Write the batch that the next tick consumes; restaging is a no-op (M09, M10)."""
    with store.begin() as tx:
        batch = canonical(
            {
                "v": 1,
                "kind": result.key.kind,
                "activity": result.key.activity,
                "result": result.digest,
                "outcome": result.outcome,
                "fence": result.fence,
            }
        )
        staged = results.stage(tx, result, batch)
        if staged and result.outcome is Outcome.DEAD:
            dead_letters.add_activity(
                tx, result.key, "poison", "started too often without a result"
            )
    if staged:
        emit(Moment.STAGED, **result.key.facts())
