"""Starts are counted on the activity, whoever made them and under whatever message."""

from __future__ import annotations

import pytest
from fixtures.database import Clock
from fixtures.world import HEAD, LEASE, a_claim, a_successor, an_activity

from app.domain.errors import Stopped
from app.domain.recovery import Stop
from app.kinds import author
from app.store import activities
from app.store.engine import Store
from app.transitions.start import start


@pytest.mark.contract("Q09")
def test_after_the_last_start_a_claim_may_only_close(
    store: Store, worker_store: Store, clock: Clock
) -> None:
    """Five lost workers that started it: the sixth claim is live, and cannot start."""
    held = a_claim(store, worker_store, an_activity(store))
    for _ in range(author.LIMITS.most_starts):
        start(worker_store, held, HEAD)
        clock.advance(LEASE)
        held = a_successor(store, worker_store, held)

    with pytest.raises(Stopped):
        start(worker_store, held, HEAD)

    with store.begin() as tx:
        assert activities.get(tx, held.key).stop is Stop.CLOSE_ONLY
