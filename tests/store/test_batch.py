"""Batches of one tick: each is visible whole or not at all, whatever becomes of its neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from fixtures.road import count, newest_receipt
from fixtures.world import (
    Attempt,
    a_claim,
    a_dispatched_attempt,
    a_result,
    activity_of,
    author_observation,
    catch_up,
)

from app.domain.digest import Json, canonical, digest
from app.domain.errors import FencepostError
from app.domain.result import Observation, Outcome
from app.store import results
from app.store.engine import Store
from app.store.schema import settlements, staged_batches
from app.transitions.stage import stage
from app.transitions.tick import tick


@pytest.mark.contract("L6", "A11")
def test_a_broken_batch_leaves_nothing_in_its_neighbours_tick(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """Written past the code, it fails in the middle; the other one is observed without a trace."""
    broken = Observation(
        Outcome.GREEN, canonical({**author_observation().value, "candidate": "none"})
    )
    held = a_claim(store, worker_store, activity_of(store, attempt))
    with worker_store.begin() as tx:
        recorded = results.record(tx, held, broken)
    stage(store, [recorded])
    other = a_dispatched_attempt(store, attempt.world)
    catch_up(store, attempt.world)
    fine = a_claim(store, worker_store, activity_of(store, other))
    stage(store, [a_result(worker_store, fine, author_observation())])

    assert tick(store, attempt.world) == 1

    facts = cast("list[list[Json]]", newest_receipt(store, attempt.world)["facts"])
    assert [row[1] for row in facts].count("AgentExecution") == 1
    catch_up(store, attempt.world)
    assert count(store, settlements) == 1


@pytest.mark.contract("A05")
def test_a_result_that_cannot_be_staged_keeps_no_other_waiting(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """Handed over together with one that nobody recorded, the other is staged all the same."""
    held = a_claim(store, worker_store, activity_of(store, attempt))
    recorded = a_result(worker_store, held, author_observation())
    unknown = replace(recorded, digest=digest(b"nobody recorded this"))

    with pytest.raises(FencepostError):
        stage(store, [unknown, recorded])

    assert count(store, staged_batches) == 1
    assert tick(store, attempt.world) == 1
