"""Limits on what runs and on what waits: decided live, and kept with who, when and why (Q02)."""

from __future__ import annotations

import pytest
from fixtures.backlog import a_backlog
from fixtures.database import Database
from fixtures.world import (
    BASE,
    Attempt,
    a_claim,
    a_dispatched_attempt,
    a_ready_task,
    a_world,
    activity_of,
    an_activity,
    catch_up,
)

from app.domain.errors import BadInput, NotFound, ReasonMissing, WorldFull
from app.domain.identity import Kind, WorldId
from app.kinds import author, command, pull_request
from app.store import limits
from app.store.engine import Store
from app.store.limits import What
from app.transitions.change import LOCAL
from app.transitions.dispatch import dispatch
from app.transitions.limit import limit
from app.transitions.take_turns import take_turns

WHY = "there is one host"
pytestmark = pytest.mark.contract("Q02")


def test_a_limit_counts_what_runs_and_what_is_out(store: Store, worker_store: Store) -> None:
    """Of three, two run or may begin at any moment; the third waits in Postgres."""
    world = a_world(store)
    a_claim(store, worker_store, an_activity(store, world))
    for _ in range(3):
        an_activity(store, world)

    limit(store, What.RUNNING, 2, LOCAL, WHY, queue=author.NAME)

    assert [len(take_turns(store, {}, 0)) for _ in range(2)] == [1, 0]


@pytest.mark.contract("G04")
def test_requests_to_a_forge_have_few_slots_unless_somebody_decides(
    store: Store, database: Database
) -> None:
    """A forge that answers slowly keeps no worker from anything else."""
    a_backlog(database, a_world(store), 20, kind=pull_request.NAME)

    usual = len(take_turns(store, {}, 100))
    limit(store, What.RUNNING, None, LOCAL, WHY, queue=pull_request.NAME)

    assert (usual, len(take_turns(store, {}, 100))) == (8, 12)


def test_a_limit_on_all_holds_over_the_queues(store: Store, database: Database) -> None:
    """However many queues there are, no more runs than all together may."""
    world = a_world(store)
    for kind in (author.NAME, command.NAME):
        a_backlog(database, world, 20, kind=kind)

    limit(store, What.RUNNING, 7, LOCAL, WHY)

    assert [len(take_turns(store, {}, 0)) for _ in range(2)] == [7, 0]


def test_a_limit_that_is_raised_or_lifted_holds_at_once(store: Store, database: Database) -> None:
    """Nobody is started again; the next turn goes by the newest decision."""
    a_backlog(database, a_world(store), 100)
    sent = []
    for value in (3, 5, 4, None):
        limit(store, What.RUNNING, value, LOCAL, WHY, queue=author.NAME)
        sent.append(len(take_turns(store, {}, 0)))

    assert sent == [3, 2, 0, 59]


def test_a_world_in_which_enough_waits_refuses_more(store: Store, worker_store: Store) -> None:
    """By a code of its own that says: later. A claim makes room, and so does another world."""
    world = a_world(store)
    limit(store, What.WAITING, 2, LOCAL, WHY, world=world)
    first = a_dispatched_attempt(store, world)
    a_dispatched_attempt(store, world)  # nobody has projected it yet
    task = a_ready_task(store, world)

    with pytest.raises(WorldFull) as refusal:
        dispatch(store, world, LOCAL, task, BASE)

    assert (refusal.value.code, refusal.value.is_retryable) == ("world_full", True)
    a_dispatched_attempt(store)
    catch_up(store, world)
    a_claim(store, worker_store, activity_of(store, first))
    assert dispatch(store, world, LOCAL, task, BASE)


def test_a_full_world_still_answers_what_it_granted(store: Store) -> None:
    """Asking again under the same key is no new work."""
    world = a_world(store)
    task = a_ready_task(store, world)
    attempt = Attempt(world, task, dispatch(store, world, LOCAL, task, BASE, key="once"))
    limit(store, What.WAITING, 1, LOCAL, WHY)

    assert dispatch(store, world, LOCAL, task, BASE, key="once") == attempt.id


def test_a_worlds_own_limit_goes_before_that_of_every_world(store: Store) -> None:
    """Until it is lifted."""
    world = a_world(store)
    limit(store, What.WAITING, 10, LOCAL, WHY)
    limit(store, What.WAITING, 20, LOCAL, WHY, world=world)
    assert (most_waiting(store, world), most_waiting(store, a_world(store))) == (20, 10)

    limit(store, What.WAITING, None, LOCAL, WHY, world=world)

    assert most_waiting(store, world) == 10


@pytest.mark.contract("L7")
def test_a_decision_is_kept_with_who_when_and_why(store: Store, database: Database) -> None:
    """What is decided anew takes nothing away; both stay readable."""
    limit(store, What.WINDOW, 5, LOCAL, "it is tried", queue=author.NAME)
    limit(store, What.WINDOW, None, LOCAL, "it was tried", queue=author.NAME)

    with database.as_owner() as session:
        kept = session.execute(
            "select value, set_by, reason, set_at is not null from fencepost.limits order by 1"
        ).fetchall()
    assert kept == [(5, LOCAL, "it is tried", True), (None, LOCAL, "it was tried", True)]


@pytest.mark.contract("L8")
@pytest.mark.parametrize(
    ("value", "queue", "reason", "refusal"),
    [
        (0, author.NAME, WHY, BadInput),
        (200_000, author.NAME, WHY, BadInput),
        (5, Kind("missions.nobody"), WHY, NotFound),
        (5, author.NAME, "  ", ReasonMissing),
    ],
)
def test_a_limit_that_cannot_be_meant_changes_nothing(
    store: Store, value: int, queue: Kind, reason: str, refusal: type[Exception]
) -> None:
    """A number out of bounds, a queue that is none, and no reason."""
    with pytest.raises(refusal):
        limit(store, What.WINDOW, value, LOCAL, reason, queue=queue)

    with store.begin() as tx:
        assert limits.current(tx).decisions == {}


def most_waiting(store: Store, world: WorldId) -> int | None:
    with store.begin() as tx:
        return limits.most_waiting(tx, world)
