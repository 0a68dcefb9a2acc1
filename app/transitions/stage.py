"""Staging: handing a recorded result to its world as one batch."""

from __future__ import annotations

from app.domain.dead_letter import LetterCause
from app.domain.digest import canonical
from app.domain.identity import ActivityKey
from app.domain.result import Outcome, ResultRef
from app.events import Moment, emit
from app.store import dead_letters, results
from app.store.engine import Store, Tx


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
        cause = None
        if staged and result.outcome is Outcome.DEAD:
            cause = _bury(tx, result.key)
    if staged:
        emit(Moment.STAGED, **result.key.facts())
    if cause is not None:
        emit(Moment.BURIED, **result.key.facts(), cause=cause)


def _bury(tx: Tx, key: ActivityKey) -> LetterCause:
    """Keep a letter that says why it is dead: no start was left, or no time."""
    begun, most = dead_letters.starts_of(tx, key)
    cause = LetterCause.POISON if begun >= most else LetterCause.OUT_OF_TIME
    dead_letters.add_activity(tx, key, cause, f"{begun} of {most} starts, and no result")
    return cause
