"""Making an activity's next delivery."""

from __future__ import annotations

from datetime import timedelta

from app.domain.identity import ActivityKey
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.store import activities, claims, deliveries, unknowns
from app.store.deliveries import Cause
from app.store.engine import Store

#: Claims in a row that end without a start; then a person is asked.
MOST_FRUITLESS = 10


def deliver(store: Store, key: ActivityKey, cause: Cause, delay: timedelta = timedelta(0)) -> bool:
    """Replace the delivery that is under way, or add one where none is; False: nothing to do.

    An activity that is held, has its result, or has a live claim gets none. One whose claims keep
    ending without a start is held instead.
    """
    with store.begin() as tx:
        activities.lock(tx, key)  # lock first, look, then change
        if not activities.is_waiting(tx, key):
            return False
        if claims.fruitless(tx, key) >= MOST_FRUITLESS:
            unknowns.open_for_control(tx, key, "claims_keep_ending", "no claim reached a start")
            return False
        deliveries.replace_open(tx, key)
        number = deliveries.add(tx, key, cause, KINDS[key.kind].limits.deadline, delay)
    emit(
        Moment.REPLACED, **key.facts(), delivery=number, cause=cause,
    )  # fmt: skip
    return True
