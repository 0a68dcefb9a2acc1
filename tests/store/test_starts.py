"""Starts are counted on the activity, whoever made them and under whatever message."""

from __future__ import annotations

import pytest
from fixtures.database import Clock
from fixtures.world import HEAD, LEASE, a_claim, a_successor, an_activity

from app.domain.errors import Stopped
from app.domain.recovery import Stop
from app.kinds import author
from app.store import activities, dead_letters
from app.store.engine import Store
from app.transitions.answer import answer
from app.transitions.call import call
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


@pytest.mark.contract("Q09", "G04")
def test_calls_that_a_forge_refused_are_no_starts(
    store: Store, worker_store: Store, clock: Clock
) -> None:
    """A forge that is limited for hours costs work nothing; a call without an answer counts."""
    held = a_claim(store, worker_store, an_activity(store))
    for _ in range(author.LIMITS.most_starts + 1):
        sent = call(worker_store, held, "create_pull_request", b"{}")
        answer(worker_store, held, sent, "refused", b"{}")
        clock.advance(LEASE)
        held = a_successor(store, worker_store, held)
    call(worker_store, held, "create_pull_request", b"{}")

    with store.begin() as tx:
        assert activities.get(tx, held.key).stop is None
        assert dead_letters.starts_of(tx, held.key)[0] == 1
