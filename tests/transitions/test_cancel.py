"""What a claim may still do once a cancel was asked for."""

from __future__ import annotations

import pytest
from fixtures.database import Clock
from fixtures.world import (
    HEAD,
    LEASE,
    Attempt,
    a_claim,
    a_dispatched_attempt,
    a_successor,
    activity_of,
    catch_up,
    observe,
)
from sqlalchemy import func, select

from app.domain.board import AttemptOutcome
from app.domain.errors import ClaimNotLive, StaleFence, Stopped
from app.domain.event import Entry, EventType
from app.domain.identity import Claim, OperationId
from app.domain.result import Outcome
from app.kinds.ending import ending
from app.store import activities, attempts, evidence
from app.store.engine import Store
from app.store.fencing import of_key
from app.store.schema import events
from app.transitions.bind import bind
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from app.transitions.journal import journal
from app.transitions.record import record
from app.transitions.start import start

SAID = [Entry(EventType.OUTPUT, b'{"text":"still here"}')]


@pytest.fixture
def attempt(store: Store) -> Attempt:
    """An attempt that is admitted."""
    attempt = a_dispatched_attempt(store)
    catch_up(store, attempt.world)
    return attempt


@pytest.fixture
def bound(store: Store, worker_store: Store, attempt: Attempt) -> Claim:
    """A claim that has named its operation, and has not started."""
    held = a_claim(store, worker_store, activity_of(store, attempt))
    bind(worker_store, held, OperationId(f"operation of {held.key}"))
    return held


@pytest.mark.contract("Q08")
def test_nothing_starts_after_the_request(
    store: Store, worker_store: Store, attempt: Attempt, bound: Claim
) -> None:
    """Bound, marked and about to start: the row is refused, whoever holds the claim."""
    cancel(store, attempt.world, LOCAL, attempt.id, "no longer wanted")

    with pytest.raises(Stopped):
        start(worker_store, bound, HEAD)

    with store.begin() as tx:
        assert evidence.starts_of(tx, bound.key) == {}


@pytest.mark.contract("Q08", "O04")
def test_what_a_live_claim_tells_afterwards_is_kept_and_reopens_nothing(
    store: Store, worker_store: Store, attempt: Attempt, bound: Claim
) -> None:
    """It was running when the cancel came: its words are evidence, and the end is the same."""
    start(worker_store, bound, HEAD)
    cancel(store, attempt.world, LOCAL, attempt.id, "no longer wanted")

    journal(worker_store, bound, 1, SAID)
    record(worker_store, bound, ending(Outcome.CANCELED, "canceled", "no longer wanted"))
    observe(store, attempt.world)

    assert told(store, bound) == 1
    with store.begin() as tx:
        assert attempts.get(tx, attempt.world, attempt.id).outcome == AttemptOutcome.CANCELED
        assert activities.get(tx, bound.key).stop == "cancel"


@pytest.mark.contract("Q08", "L4")
def test_what_a_stale_claim_tells_afterwards_is_refused(
    store: Store, worker_store: Store, attempt: Attempt, bound: Claim, clock: Clock
) -> None:
    """Its successor closes the work; of the other no word is written down any more."""
    start(worker_store, bound, HEAD)
    cancel(store, attempt.world, LOCAL, attempt.id, "no longer wanted")
    clock.advance(2 * LEASE)
    successor = a_successor(store, worker_store, bound)

    with pytest.raises((StaleFence, ClaimNotLive)):
        journal(worker_store, bound, 1, SAID)

    assert told(store, bound) == 0
    record(worker_store, successor, ending(Outcome.CANCELED, "canceled", "no longer wanted"))
    with pytest.raises((StaleFence, ClaimNotLive)):
        journal(worker_store, bound, 1, SAID)
    assert told(store, bound) == 0


def told(store: Store, held: Claim) -> int:
    """How many events of output there are under a claim's fence."""
    with store.begin() as tx:
        query = select(func.count()).select_from(events).where(
            of_key(events, held.key), events.c.fence == held.fence, events.c.type == "output"
        )  # fmt: skip
        return int(tx.execute(query).scalar_one())
