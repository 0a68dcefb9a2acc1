"""Sixty-four processes at the same instant: the database decides (T05)."""

from __future__ import annotations

from collections import Counter

import pytest
from fixtures.board import a_failed_attempt, attempts_of, verbs_of
from fixtures.crowd import crowd
from fixtures.database import Database
from fixtures.world import a_ready_task, a_world

from app.store.engine import Store

CROWD = 64


@pytest.mark.contract("T05", "L8")
def test_of_many_dispatches_at_once_one_is_carried_out(store: Store, database: Database) -> None:
    """One attempt; the others get their refusal, and leave no receipt and no gap."""
    world = a_world(store)
    task = a_ready_task(store, world)
    before = verbs_of(store, world)

    said = crowd(database.app_url, world, task, ["dispatch"] * CROWD)

    assert Counter(answer for _, answer in said) == {"done": 1, "active_attempt": CROWD - 1}
    assert [row.ended_at for row in attempts_of(store, task)] == [None]
    assert verbs_of(store, world) == [*before, "dispatch"]


@pytest.mark.contract("T05", "T04", "L8")
def test_of_many_retries_at_once_one_is_carried_out(
    store: Store, worker_store: Store, database: Database
) -> None:
    """One attempt follows the failure, which stays as it was."""
    failed = a_failed_attempt(store, worker_store)
    before, receipts = attempts_of(store, failed.task), verbs_of(store, failed.world)

    said = crowd(database.app_url, failed.world, failed.task, ["retry"] * CROWD)

    assert Counter(answer for _, answer in said) == {"done": 1, "active_attempt": CROWD - 1}
    first, second = attempts_of(store, failed.task)
    assert [first] == before
    assert (second.number, second.retry, second.ended_at) == (2, 1, None)
    assert verbs_of(store, failed.world) == [*receipts, "retry"]


@pytest.mark.contract("T05", "Q08", "L8")
def test_retries_dispatches_and_cancels_at_once_give_one_attempt(
    store: Store, worker_store: Store, database: Database
) -> None:
    """Whoever comes first, and while dispatchers carry the cancel out: one attempt, one end."""
    failed = a_failed_attempt(store, worker_store)
    receipts = verbs_of(store, failed.world)
    verbs = ["retry", "cancel", "dispatch", "cancel"] * (CROWD // 4 - 2) + ["observe"] * 8

    said = crowd(database.app_url, failed.world, failed.task, verbs)

    answers = Counter(said)
    accepted = Counter(verb for verb, answer in said if answer == "done")
    assert (accepted["retry"], accepted["dispatch"]) == (1, 0)
    assert {answer for verb, answer in answers if verb == "retry"} <= {
        "done", "active_attempt", "did_not_fail",
    }  # fmt: skip
    assert {answer for verb, answer in answers if verb == "dispatch"} <= {
        "prior_attempt", "active_attempt",
    }  # fmt: skip
    assert {answer for verb, answer in answers if verb == "cancel"} <= {"done", "wrong_state"}
    assert {answer for verb, answer in answers if verb == "observe"} == {"done"}
    first, second = attempts_of(store, failed.task)
    assert (first.outcome, second.outcome in (None, "canceled")) == ("failed", True)
    made = Counter(verbs_of(store, failed.world)[len(receipts) :])
    assert (made["retry"], made["cancel"]) == (1, accepted["cancel"])
    assert made["observe"] <= 1
