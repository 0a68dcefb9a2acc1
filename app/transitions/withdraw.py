"""Ending canceled work of which nothing is outside: it was never claimed, or it only looks."""

from __future__ import annotations

from app.domain.identity import ActivityKey
from app.domain.recovery import Stop
from app.domain.result import Outcome
from app.events import Moment, emit
from app.kinds.ending import ending
from app.kinds.registry import KINDS
from app.store import activities, claims, results
from app.store.claims import Verdict
from app.store.engine import Store


def withdraw(store: Store, key: ActivityKey) -> bool:
    """Record its ending under a fence of the control plane's own (L9); needs no worker (Q08).

    False, and nothing is changed, once somebody has claimed what may act, while somebody looks,
    and where no cancel was asked for.
    """
    with store.begin() as tx:
        activity = activities.lock(tx, key)  # lock first, look, then change
        may_have_acted = activity.fence != 0 and not KINDS[key.kind].only_looks
        if may_have_acted or activity.stop is not Stop.CANCEL:
            return False
        claim = claims.take_for_control(tx, key)
        if isinstance(claim, Verdict):
            return False
        results.record(tx, claim, ending(Outcome.CANCELED, "canceled", "before any claim"))
    emit(Moment.RECORDED, **claim.facts(), outcome=Outcome.CANCELED)
    return True
