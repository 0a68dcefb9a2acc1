"""Ending canceled work that nobody ever claimed."""

from __future__ import annotations

from app.domain.identity import ActivityKey
from app.domain.recovery import Stop
from app.domain.result import Outcome
from app.events import Moment, emit
from app.kinds.ending import ending
from app.store import activities, claims, results
from app.store.claims import Verdict
from app.store.engine import Store


def withdraw(store: Store, key: ActivityKey) -> bool:
    """Record its ending under a fence of the control plane's own (L9); needs no worker (Q08).

    False, and nothing is changed, once somebody has claimed it or where no cancel was asked for.
    """
    with store.begin() as tx:
        activity = activities.lock(tx, key)  # lock first, look, then change
        if activity.fence != 0 or activity.stop is not Stop.CANCEL:
            return False
        claim = claims.take_for_control(tx, key)
        if isinstance(claim, Verdict):
            return False
        results.record(tx, claim, ending(Outcome.CANCELED, "canceled", "before any claim"))
    emit(Moment.RECORDED, **claim.facts(), outcome=Outcome.CANCELED)
    return True
