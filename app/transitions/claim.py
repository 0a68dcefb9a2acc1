"""Claiming an activity for a delivery."""

from __future__ import annotations

from app.domain.identity import ActivityKey, Claim, DeliveryNumber
from app.events import Moment, emit
from app.store import claims
from app.store.claims import Verdict
from app.store.engine import Store


def claim(store: Store, key: ActivityKey, delivery: DeliveryNumber, worker: str) -> Claim | Verdict:
    """The next fence and its token, or a verdict that is recorded and ends the message (Q10)."""
    with store.begin() as tx:
        taken = claims.take(tx, key, delivery, worker)
        if isinstance(taken, Verdict):
            claims.record_verdict(tx, key, delivery, taken, worker)
    if isinstance(taken, Verdict):
        emit(Moment.VERDICT, **key.facts(), delivery=delivery, verdict=taken)
    else:
        emit(Moment.CLAIMED, **taken.facts(), delivery=delivery)
    return taken
