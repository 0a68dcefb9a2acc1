"""What the reaper saw is looked at again under the lock, before it takes anything away."""

from __future__ import annotations

import pytest
from fixtures.world import HEAD, a_claim

from app.store import claims
from app.store.engine import Store
from app.transitions.expire import expire
from app.transitions.start import start


@pytest.mark.contract("Q06")
def test_a_claim_that_was_renewed_meanwhile_is_not_ended(store: Store, worker_store: Store) -> None:
    """A sweep that read the lease before its renewal takes nothing from the worker."""
    held = a_claim(store, worker_store)

    expire(store, claims.OpenClaim(held.key, held.fence))

    start(worker_store, held, HEAD)
