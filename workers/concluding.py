"""How a claim on work ends, by whichever road it came: recorded, held, or left to the next."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from app.domain.errors import UnfitInput
from app.domain.event import EventType
from app.domain.recovery import Stop
from app.domain.result import Observation, Outcome, observation_from
from app.kinds.ending import ending
from app.store import claims
from app.transitions.hold import hold
from app.transitions.record import record
from app.transitions.release import release
from workers.worker import Run

NO_START_LEFT = "no start is left, and there is no result"


def conclude(run: Run, observation: Observation) -> None:
    """Record what was observed; that ends claim and activity."""
    run.journal.tell(EventType.COMPLETION, outcome=observation.outcome)
    record(run.store, run.claim, observation)


def conclude_as_found(run: Run, seen: bytes) -> None:
    """Record exactly what was published; what none of ours would have written is for a person."""
    try:
        conclude(run, observation_from(seen))
    except UnfitInput as fault:
        hold(run.store, run.claim, "malformed_result", fault.message)


def ended(run: Run, stop: Stop) -> Observation:
    """The observation of work that was stopped, and of which nothing was published."""
    match stop:
        case Stop.CANCEL:
            return ending(Outcome.CANCELED, "canceled", "a cancel was asked for")
        case Stop.ABANDON:
            return ending(Outcome.ABANDONED, "abandoned", "a person abandoned it")
        case Stop.CLOSE_ONLY:
            with run.store.begin() as tx:
                last = claims.last_words(tx, run.claim.key)
            return ending(Outcome.DEAD, "poison", f"{NO_START_LEFT}{last}")
        case _:
            assert_never(stop)


def leave(run: Run) -> None:
    """Hand the activity to the next claim, unless this one lost it already."""
    if not run.held.is_lost:
        release(run.store, run.claim, "left to the next claim", timedelta(0))
