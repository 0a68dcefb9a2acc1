"""Claims that keep ending before anything began are a person's question, not a loop."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fixtures.deciding import held_fence
from fixtures.world import a_claim, an_activity

from app.domain.decision import Decision
from app.domain.identity import ActivityKey
from app.store import claims, evidence, unknowns
from app.store.deliveries import Cause
from app.store.engine import Store
from app.transitions.change import LOCAL
from app.transitions.deliver import MOST_FRUITLESS, deliver
from app.transitions.hold import hold
from app.transitions.release import release
from app.transitions.resolve import Word, resolve


def test_work_whose_claims_keep_ending_is_held(store: Store, worker_store: Store) -> None:
    """After ten claims in a row without a start there is no further delivery, but an unknown."""
    key = an_activity(store)
    for _ in range(MOST_FRUITLESS - 1):
        assert hand_back(store, worker_store, key)

    assert not hand_back(store, worker_store, key)

    with store.begin() as tx:
        assert unknowns.find_open(tx, key) == ("claims_keep_ending", "no claim reached a start")


@pytest.mark.parametrize("who_asked", ["worker", "control plane"])
def test_decided_work_is_delivered_again(store: Store, worker_store: Store, who_asked: str) -> None:
    """A person's decision opens a new row of claims; what ended before it no longer counts."""
    key = an_activity(store)
    for _ in range(MOST_FRUITLESS - 1):
        hand_back(store, worker_store, key)
    if who_asked == "worker":
        hold(worker_store, a_claim(store, worker_store, key), "ref_missing", "it is gone")
    else:
        hand_back(store, worker_store, key)

    word = Word(Decision.LOOK_AGAIN, "the ref is back")
    resolve(store, LOCAL, key, held_fence(store, key), word)

    assert hand_back(store, worker_store, key)


def test_call_to_the_forge_is_a_start(store: Store, worker_store: Store) -> None:
    """Claims of a pull request begin with a call; one that called was not fruitless."""
    key = an_activity(store)
    hand_back(store, worker_store, key)
    held = a_claim(store, worker_store, key)
    with worker_store.begin() as tx:
        evidence.call(tx, held, "create", b"{}")
    release(worker_store, held, "uncertain", timedelta(0))

    with store.begin() as tx:
        assert claims.fruitless(tx, key) == 0


def hand_back(store: Store, worker_store: Store, key: ActivityKey) -> bool:
    """Claim, give up, and say whether there was another delivery."""
    release(worker_store, a_claim(store, worker_store, key), "unreadable", timedelta(0))
    return deliver(store, key, Cause.RELEASED)
