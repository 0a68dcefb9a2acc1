"""Staging: handing recorded results to their worlds, one batch each."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.dead_letter import LetterCause
from app.domain.digest import canonical
from app.domain.errors import FencepostError
from app.domain.identity import ActivityKey
from app.domain.result import Outcome, ResultRef
from app.events import Moment, emit
from app.store import batches, claims, dead_letters
from app.store.engine import Store, Tx


def stage(store: Store, those: Sequence[ResultRef]) -> None:
    """Write the batches that the next tick consumes; restaging is a no-op (M09, M10).

    All in one transaction. One that cannot be staged keeps no other waiting: then each is staged
    alone, and the first error leaves when all had their turn.
    """
    try:
        _stage(store, those)
    except FencepostError:
        if len(those) == 1:
            raise
        faults = [fault for one in those if (fault := _fault(store, one)) is not None]
        if faults:
            raise faults[0] from None


def _fault(store: Store, one: ResultRef) -> FencepostError | None:
    try:
        _stage(store, [one])
    except FencepostError as fault:
        return fault
    return None


def _stage(store: Store, those: Sequence[ResultRef]) -> None:
    with store.begin() as tx:
        staged = batches.stage(tx, {one: _batch(one) for one in those})
        buried = [(one, _bury(tx, one.key)) for one in staged if one.outcome is Outcome.DEAD]
    for one in staged:
        emit(Moment.STAGED, **one.key.facts())
    for one, cause in buried:
        emit(Moment.BURIED, **one.key.facts(), cause=cause)


def _batch(result: ResultRef) -> bytes:
    return canonical(
        {
            "v": 1,
            "kind": result.key.kind,
            "activity": result.key.activity,
            "result": result.digest,
            "outcome": result.outcome,
            "fence": result.fence,
        }
    )


def _bury(tx: Tx, key: ActivityKey) -> LetterCause:
    """Keep a letter that says why it is dead: no start was left, or no time."""
    begun, most = dead_letters.starts_of(tx, key)
    cause = LetterCause.POISON if begun >= most else LetterCause.OUT_OF_TIME
    last = claims.last_words(tx, key)
    dead_letters.add_activity(tx, key, cause, f"{begun} of {most} starts, and no result{last}")
    return cause
