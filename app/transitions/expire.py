"""Ending a claim whose lease ran out."""

from __future__ import annotations

from app.events import Moment, emit
from app.store import activities, claims
from app.store.claims import OpenClaim
from app.store.engine import Store


def expire(store: Store, lost: OpenClaim) -> None:
    """End it, unless it was renewed or ended meanwhile; races neither completion nor itself."""
    with store.begin() as tx:
        activities.lock(tx, lost.key)  # lock first, look, then change
        done = claims.end_if_expired(tx, lost.key, lost.fence)
    if done:
        key = lost.key
        emit(
            Moment.CLAIM_EXPIRED, **key.facts(), fence=lost.fence,
        )  # fmt: skip
