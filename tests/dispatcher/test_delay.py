"""Why an activity is not running has one answer, whatever stands in its way (Q02)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fixtures.backlog import a_backlog
from fixtures.database import Database
from fixtures.world import a_claim, a_result, a_world, an_activity, author_observation

from app.domain.identity import ActivityKey
from app.kinds import author
from app.store import outbox
from app.store.deliveries import Cause
from app.store.engine import Store
from app.store.limits import What
from app.store.views.delay import Delay, Why, delay_of
from app.store.views.queues import Redis
from app.transitions.change import LOCAL
from app.transitions.deliver import deliver
from app.transitions.hold import hold
from app.transitions.limit import limit
from app.transitions.pause_queue import pause_queue
from app.transitions.release import release
from app.transitions.take_turns import take_turns

pytestmark = pytest.mark.contract("Q02")


def delay(store: Store, key: ActivityKey, redis: Redis | None = None) -> Delay | None:
    with store.begin() as tx:
        return delay_of(tx, key) if redis is None else delay_of(tx, key, redis)


def why(store: Store, key: ActivityKey, redis: Redis | None = None) -> Why | None:
    found = delay(store, key, redis)
    return None if found is None else found.why


def test_from_admission_to_the_free_slot(store: Store, worker_store: Store) -> None:
    """First its turn, then being sent, then a message that waits for a slot, then nothing."""
    key = an_activity(store)
    said = [why(store, key)]
    taken = take_turns(store, {}, 0)
    said.append(why(store, key))
    with store.begin() as tx:
        outbox.lock(tx)
        outbox.confirm(tx, taken)
    said.append(why(store, key))
    held = a_claim(store, worker_store, key)
    said.append(why(store, key))
    a_result(worker_store, held, author_observation())
    said.append(why(store, key))

    assert said == [Why.TURN, Why.SENDING, Why.SLOT, None, None]


def test_a_paused_queue_says_who_and_why(store: Store) -> None:
    """Before any other reason."""
    key = an_activity(store)
    limit(store, What.RUNNING, 1, LOCAL, "there is one host")
    pause_queue(store, author.NAME, LOCAL, "the mirror is repaired")

    found = delay(store, key)

    assert found is not None
    assert (found.why, found.detail) == (Why.PAUSED, "by local: the mirror is repaired")


def test_a_limit_says_which(store: Store, worker_store: Store) -> None:
    """The queue's own, with numbers, or the one on all."""
    world = a_world(store)
    a_claim(store, worker_store, an_activity(store, world))
    key = an_activity(store, world)
    said = []
    for queue in (None, author.NAME):
        limit(store, What.RUNNING, 1, LOCAL, "there is one host", queue=queue)
        found = delay(store, key)
        assert found is not None
        said.append((found.why, found.detail))

    assert said == [
        (Why.LIMIT, "as many run in all queues together as may"),
        (Why.LIMIT, "1 of 1 in missions.author"),
    ]


def test_a_full_window_is_named_and_counts_who_is_before(store: Store, database: Database) -> None:
    """By what Redis holds, where that is known."""
    world = a_world(store)
    a_backlog(database, world, 3)
    key = an_activity(store, world)

    found = delay(store, key, Redis({author.NAME: 64}))

    assert found is not None
    assert (found.why, found.detail) == (Why.FULL, "3 of its world before it")


def test_a_pause_after_a_failure_says_until_when(store: Store, worker_store: Store) -> None:
    """And before the reaper has made the next delivery, that it will."""
    key = an_activity(store)
    release(worker_store, a_claim(store, worker_store, key), "busy", timedelta(minutes=5))
    said = [why(store, key)]
    deliver(store, key, Cause.RELEASED, timedelta(minutes=5))
    found = delay(store, key)

    assert said == [Why.REAPER]
    assert found is not None
    assert found.why is Why.LATER
    assert found.until is not None


def test_held_work_waits_for_a_person(store: Store, worker_store: Store) -> None:
    """With the code of what is not known."""
    key = an_activity(store)
    hold(worker_store, a_claim(store, worker_store, key), "ref_missing", "somebody removed it")

    found = delay(store, key)

    assert found is not None
    assert (found.why, found.detail) == (Why.HELD, "ref_missing")
