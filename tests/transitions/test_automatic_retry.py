"""What follows by itself when a claim fails: another claim of the same activity, or a person."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest
from fixtures.bounds import a_bounded_attempt
from fixtures.database import Database
from fixtures.deciding import held_fence
from fixtures.world import a_claim, activity_of, catch_up
from sqlalchemy import func, select

from app.domain.decision import Decision
from app.domain.digest import Json
from app.domain.identity import ActivityKey
from app.domain.recovery import Stop
from app.domain.work_order import RetryRule
from app.kinds.request import retry_rules
from app.store import activities, unknowns
from app.store.deliveries import Cause
from app.store.engine import Store
from app.store.fencing import of_key
from app.store.schema import attempts, claims, deliveries
from app.transitions.change import LOCAL
from app.transitions.deliver import deliver
from app.transitions.resolve import Word, resolve
from workers.handing_back import hand_back
from workers.worker import Run


@pytest.mark.contract("T09")
def test_trouble_that_passes_is_followed_by_a_claim_of_the_same_activity(
    control: Store, worker: Store
) -> None:
    """The pause stands in Postgres and grows; there is no second attempt."""
    key = an_activity(control)

    fail(control, worker, key, "remote_unreadable")
    fail(control, worker, key, "remote_unreadable")
    fail(control, worker, key, "host_failed")

    assert held(control, key) is None
    first, second, other_class = pauses(control, key)
    assert timedelta(seconds=0.9) < first < timedelta(seconds=1.3)
    assert first * 1.5 < second < timedelta(seconds=2.6)
    assert timedelta(seconds=1.9) < other_class < timedelta(seconds=2.6)
    with control.begin() as tx:
        query = select(func.count()).where(attempts.c.world_id == key.world)
        assert tx.execute(query).scalar_one() == 1


@pytest.mark.contract("T09")
@pytest.mark.parametrize("code", ["our_fault", "base_missing", "push_refused", "forge_uncertain"])
def test_what_would_fail_again_is_held_at_once(control: Store, worker: Store, code: str) -> None:
    """The person who decides reads the code of the failure itself."""
    key = an_activity(control)

    fail(control, worker, key, code)

    opened = held(control, key)
    assert opened is not None
    assert opened[0] == code
    assert not deliver(control, key, Cause.RELEASED)


@pytest.mark.contract("T09", "O02")
def test_a_step_tightens_the_work_orders_rules(control: Store, worker: Store) -> None:
    """Both hold: the fewer tries and the longer pause of each class, in that step alone."""
    order = {
        "transient": RetryRule(3, timedelta(seconds=30)),
        "capacity": RetryRule(0),
    }
    step: dict[str, Json] = {
        "transient": {"attempts": 1, "backoff_s": None},
        "lost_worker": {"attempts": 2, "backoff_s": 7},
    }
    key = an_activity(control, order, step)
    with control.begin() as tx:
        rules = retry_rules(activities.get(tx, key).request)
    assert rules == {
        "transient": RetryRule(1, timedelta(seconds=30)),
        "capacity": RetryRule(0),
        "lost_worker": RetryRule(2, timedelta(seconds=7)),
    }

    fail(control, worker, key, "git_failed")
    assert pauses(control, key)[0] >= timedelta(seconds=29)
    fail(control, worker, key, "git_failed")

    opened = held(control, key)
    assert opened is not None
    assert opened[0] == "claims_keep_ending"


@pytest.mark.contract("T09")
def test_a_work_order_tightens_the_tries(control: Store, worker: Store) -> None:
    """One automatic try means two claims; then a person is asked."""
    key = an_activity(control, {"transient": RetryRule(1, timedelta(seconds=30))})

    fail(control, worker, key, "git_failed")
    assert held(control, key) is None
    assert pauses(control, key)[0] >= timedelta(seconds=29)
    fail(control, worker, key, "remote_unreadable")

    opened = held(control, key)
    assert opened is not None
    assert opened[0] == "claims_keep_ending"
    assert "remote_unreadable" in opened[1]


@pytest.mark.contract("T09")
def test_a_decision_gives_the_tries_back(control: Store, worker: Store) -> None:
    """What failed before a person decided no longer counts."""
    key = an_activity(control, {"transient": RetryRule(1)})
    fail(control, worker, key, "git_failed")
    fail(control, worker, key, "git_failed")
    word = Word(Decision.LOOK_AGAIN, "the remote is back")
    resolve(control, LOCAL, key, held_fence(control, key), word)

    fail(control, worker, key, "git_failed")

    assert held(control, key) is None


@pytest.mark.contract("T09")
def test_what_was_stopped_is_claimed_again_whatever_failed(control: Store, worker: Store) -> None:
    """Nothing starts any more; looking and closing is no retry."""
    key = an_activity(control, {"transient": RetryRule(0)})
    with control.begin() as tx:
        activities.set_stop(tx, key, Stop.CANCEL)

    for code in ("stopped", "git_failed", "our_fault"):
        fail(control, worker, key, code)

    assert held(control, key) is None


@pytest.mark.contract("T09", "Q09")
def test_a_lost_worker_is_followed_by_a_claim_after_a_pause(
    control: Store, worker: Store, common: Database
) -> None:
    """The next delivery may be sent a little later, not never."""
    key = an_activity(control)
    lose(control, worker, common, key)

    assert deliver(control, key, Cause.LOST_WORKER)

    with control.begin() as tx:
        query = (
            select(deliveries.c.not_before - deliveries.c.created_at)
            .where(of_key(deliveries, key)).order_by(deliveries.c.number.desc()).limit(1)
        )  # fmt: skip
        pause = tx.execute(query).scalar_one()
    assert timedelta(seconds=0.1) < pause < timedelta(seconds=0.5)


@pytest.mark.contract("T09")
def test_a_work_order_may_ask_for_a_person_after_a_lost_worker(
    control: Store, worker: Store, common: Database
) -> None:
    """With no automatic try the first loss is a question already."""
    key = an_activity(control, {"lost_worker": RetryRule(0)})
    lose(control, worker, common, key)

    assert not deliver(control, key, Cause.LOST_WORKER)

    opened = held(control, key)
    assert opened is not None
    assert opened[0] == "claims_keep_ending"


def an_activity(
    store: Store, retry: Mapping[str, RetryRule] | None = None,
    of_step: Mapping[str, Json] | None = None,
) -> ActivityKey:  # fmt: skip
    """An author's activity under a work order's rules, and its step's own."""
    workflow = None
    if of_step is not None:
        author = {"name": "author", "kind": "author", "command": ["true"], "retry": of_step}
        workflow = {"v": 1, "steps": [author]}
    attempt = a_bounded_attempt(store, retry=retry, workflow=workflow)
    catch_up(store, attempt.world)
    return activity_of(store, attempt)


def fail(control: Store, worker: Store, key: ActivityKey, code: str) -> None:
    """Claim, and let the worker hand back after this failure; then deliver, if that is allowed."""
    claim = a_claim(control, worker, key)
    with worker.begin() as tx:
        activity = activities.get(tx, key)
    run = SimpleNamespace(store=worker, claim=claim, activity=activity)
    hand_back(cast("Run", run), code, "as the test wants it")
    deliver(control, key, Cause.RELEASED)


def lose(control: Store, worker: Store, common: Database, key: ActivityKey) -> None:
    """Claim, and end the claim as the reaper does once its lease has run out."""
    a_claim(control, worker, key)
    with common.as_app() as session:
        session.execute(
            "update fencepost.claims set ended = clock_timestamp(), end_cause = 'expired'"
            " where world_id = %s and activity_id = %s",
            (key.world, key.activity),
        )


def held(store: Store, key: ActivityKey) -> tuple[str, str] | None:
    with store.begin() as tx:
        return unknowns.find_open(tx, key)


def pauses(store: Store, key: ActivityKey) -> list[timedelta]:
    """How long after each claim's end the next may come."""
    with store.begin() as tx:
        query = (
            select(claims.c.retry_at - claims.c.ended)
            .where(of_key(claims, key)).order_by(claims.c.fence)
        )  # fmt: skip
        return list(tx.execute(query).scalars())
