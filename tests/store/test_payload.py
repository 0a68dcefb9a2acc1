"""Results and what they cost: payloads go by their digest, claims are no attempts."""

from __future__ import annotations

import pytest
from fixtures.database import Clock
from fixtures.world import (
    LEASE,
    a_claim,
    a_dispatched_attempt,
    a_result,
    a_successor,
    activity_of,
    an_activity,
    author_observation,
    catch_up,
)
from sqlalchemy import func, insert, select

from app.domain.digest import digest
from app.store import attempts, results
from app.store.engine import Store
from app.store.fencing import fenced, present
from app.store.schema import claims, payloads


@pytest.mark.contract("M08")
def test_a_payload_without_a_reference_is_used_again_by_its_digest(
    store: Store, worker_store: Store, clock: Clock
) -> None:
    """A crash between payload and result leaves bytes that the next claim takes."""
    first = a_claim(store, worker_store, an_activity(store))
    seen = author_observation()
    with worker_store.begin() as tx:
        present(tx, first)
        tx.execute(
            insert(payloads).values(**fenced(first), digest=digest(seen.bytes), bytes=seen.bytes)
        )
    with store.begin() as tx:
        assert results.find(tx, first.key) is None

    clock.advance(LEASE)
    recorded = a_result(worker_store, a_successor(store, worker_store, first), seen)

    with store.begin() as tx:
        kept = tx.execute(
            select(payloads.c.fence).where(payloads.c.world_id == first.key.world)
        ).scalars()
        assert list(kept) == [first.fence]
        assert results.payload(tx, first.key.world, recorded.digest) == seen.bytes


@pytest.mark.contract("A12")
def test_claims_that_die_cost_no_attempt(store: Store, worker_store: Store, clock: Clock) -> None:
    """Fences count deliveries; the budget of attempts is the domain's alone."""
    attempt = a_dispatched_attempt(store)
    catch_up(store, attempt.world)
    held = a_claim(store, worker_store, activity_of(store, attempt))
    for _ in range(3):
        clock.advance(LEASE)
        held = a_successor(store, worker_store, held)

    with store.begin() as tx:
        latest = attempts.latest(tx, attempt.world, attempt.task)
        taken = tx.execute(
            select(func.count()).select_from(claims)
            .where(claims.c.world_id == attempt.world)
        ).scalar_one()  # fmt: skip
    assert latest is not None
    assert (taken, latest.number, latest.retry, latest.ended_at) == (4, 1, 0, None)
