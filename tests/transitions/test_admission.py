"""Admission: receipts read together are admitted like one by one, and no cancel slips past."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from fixtures.database import Database
from fixtures.waiting import until
from fixtures.world import Attempt, a_dispatched_attempt, a_world, activity_of, catch_up

from app.domain.errors import DigestConflict
from app.domain.identity import ActivityKey
from app.domain.recovery import Stop
from app.kinds import author
from app.store import activities, receipts
from app.store.engine import Store, open_store
from app.transitions.admit import PROJECTOR, project
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL, Command, changing

FORGE = Command("forge", LOCAL, {})
_WAITING = """
select count(*) from pg_stat_activity
 where application_name in ('test-cancel', 'test-project') and wait_event_type = 'Lock'
"""


@pytest.fixture
def holding(common: Database) -> Iterator[psycopg.Connection]:
    """A session that may hold any row; rolled back, it lets go."""
    with common.connect(common.superuser_url) as holding:
        yield holding


@pytest.fixture
def watcher(common: Database) -> Iterator[psycopg.Connection]:
    """A session that sees who waits."""
    with common.connect(common.superuser_url, autocommit=True) as watcher:
        yield watcher


@pytest.mark.contract("Q08")
def test_a_cancel_under_way_is_seen_by_the_admission_that_waited_for_it(
    control: Store, common: Database, holding: psycopg.Connection, watcher: psycopg.Connection
) -> None:
    """It asked before it could find the activity; nothing of that activity may start."""
    attempt = a_dispatched_attempt(control)
    holding.execute(
        "select from fencepost.attempt_counters where attempt_id = %s for update", [attempt.id]
    )  # a cancel writes there last of all
    canceling = going(lambda store: _cancel(store, attempt), common, "test-cancel")
    until(lambda: waiting(watcher) == 1)

    projecting = going(lambda store: catch_up(store, attempt.world), common, "test-project")
    until(lambda: waiting(watcher) == 2)
    holding.rollback()
    canceling.join()
    projecting.join()

    assert stop_of(control, activity_of(control, attempt)) is Stop.CANCEL


@pytest.mark.contract("Q08")
def test_an_admission_under_way_is_found_by_the_cancel_that_waited_for_it(
    control: Store, common: Database, holding: psycopg.Connection, watcher: psycopg.Connection
) -> None:
    """The projection looked before anybody asked, so the cancel must not miss its activity."""
    attempt = a_dispatched_attempt(control)
    with control.begin() as tx:
        receipts.advance(tx, attempt.world, PROJECTOR, 1)
    holding.execute(
        "select from fencepost.projector_cursors where world_id = %s for update", [attempt.world]
    )  # a projection writes there last of all
    projecting = going(lambda store: catch_up(store, attempt.world), common, "test-project")
    until(lambda: waiting(watcher) == 1)

    canceling = going(lambda store: _cancel(store, attempt), common, "test-cancel")
    until(lambda: waiting(watcher) == 2)
    holding.rollback()
    projecting.join()
    canceling.join()

    assert stop_of(control, activity_of(control, attempt)) is Stop.CANCEL


@pytest.mark.contract("M03")
def test_a_receipt_that_is_refused_keeps_none_before_it_waiting(control: Store) -> None:
    """Read together with others it fails alone: those before are admitted."""
    world = a_world(control)
    before = [a_dispatched_attempt(control, world) for _ in range(2)]
    with control.begin() as tx, changing(tx, world, FORGE) as change:
        (*_, (tick, dispatched)) = receipts.facts_of(
            tx, world, range(1, change.world.tick), [author.DISPATCH]
        )
        forged = {**dispatched.value, "title": "Other"}
        change.world.put(dispatched.entity, author.DISPATCH, 1, forged)
    after = a_dispatched_attempt(control, world)

    with pytest.raises(DigestConflict):
        project(control, world, behind(control, before[0]))

    assert behind(control, before[0]).start == tick + 1
    for attempt in before:
        assert activity_of(control, attempt)
    with pytest.raises(ValueError, match="not enough"):
        activity_of(control, after)


def going(act, common: Database, name: str) -> threading.Thread:  # type: ignore[no-untyped-def]  # a lambda over a store
    """Something under way in a session of this name."""

    def go() -> None:
        with closing(open_store(common.app_url, name=name)) as store:
            act(store)

    thread = threading.Thread(target=go)
    thread.start()
    return thread


def waiting(watcher: psycopg.Connection) -> int:
    """How many of the two wait for a row."""
    row = watcher.execute(_WAITING).fetchone()
    assert row is not None
    return int(row[0])


def stop_of(store: Store, key: ActivityKey) -> Stop | None:
    """What an activity was told."""
    with store.begin() as tx:
        return activities.get(tx, key).stop


def behind(store: Store, attempt: Attempt) -> range:
    """The receipts that were not projected."""
    with store.begin() as tx:
        return dict(receipts.behind(tx, PROJECTOR))[attempt.world]


def _cancel(store: Store, attempt: Attempt) -> None:
    cancel(store, attempt.world, LOCAL, attempt.id, "it is not needed any more")
