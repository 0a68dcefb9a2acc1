"""Bounds on what runs at once: writers of a base, and attempts of a repository and a world."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from fixtures.road import carry_out
from fixtures.world import (
    BASE,
    HEAD,
    Attempt,
    a_world,
    activity_of,
    author_observation,
    catch_up,
    observe,
    pull_request_observation,
)
from sqlalchemy import select

from app.domain.board import Column
from app.domain.bounds import Bound
from app.domain.identity import WorldId
from app.domain.pull_request import RequestState
from app.domain.result import Outcome
from app.domain.work_order import MergeStrategy, Specification
from app.kinds import pull_request
from app.kinds.request import work_request
from app.store import activities
from app.store.engine import Store
from app.store.schema import steps, writers
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.move import move
from app.transitions.observe_requests import RequestSeen, observe_requests
from app.transitions.pause import pause, resume
from app.transitions.set_world import set_world
from app.transitions.submit import submit


def an_attempt(
    store: Store, world: WorldId, *, merge: int = 1, url: str = "/srv/humanize.git",
    branch: str = BASE.branch,
) -> Attempt:  # fmt: skip
    """A dispatched attempt of a work order with a merge bound; 1 is serial."""
    repository = add_repository(store, world, LOCAL, "humanize", url)
    limit = timedelta(minutes=5)
    strategy = MergeStrategy.SERIAL if merge == 1 else MergeStrategy.PARALLEL
    specification = Specification(
        "Tidy", branch, (), ("true",), (), limit, limit, merge=strategy, merge_bound=merge
    )
    new = draft(store, world, LOCAL, repository.id, specification)
    submit(store, world, LOCAL, new.work_order)
    approve(store, world, LOCAL, new.work_order)
    move(store, world, LOCAL, new.task, Column.READY, "it is approved")
    attempt = dispatch(store, world, LOCAL, new.task, Base(branch, BASE.sha))
    return Attempt(world, new.task, attempt)


def waits(store: Store, attempts: Sequence[Attempt]) -> list[str | None]:
    """What each attempt's author step waits for; None: it has begun, or is over."""
    with store.begin() as tx:
        rows = tx.execute(
            select(steps.c.attempt_id, steps.c.waits_for, steps.c.state)
            .where(steps.c.name == "author")
            .where(steps.c.attempt_id.in_([one.id for one in attempts]))
        ).all()  # fmt: skip
    found = {row.attempt_id: row for row in rows}
    assert all(row.waits_for or row.state != "pending" for row in rows)
    return [found[one.id].waits_for for one in attempts]


def author(store: Store, worker: Store, attempt: Attempt, outcome: Outcome = Outcome.GREEN) -> None:
    """The attempt's author step runs and ends so."""
    catch_up(store, attempt.world)
    carry_out(store, worker, attempt, author_observation(outcome))


def propose(store: Store, worker: Store, attempt: Attempt) -> None:
    """The attempt's request is opened, which ends the attempt."""
    catch_up(store, attempt.world)
    carry_out(store, worker, attempt, pull_request_observation(), pull_request.NAME)


@pytest.mark.contract("O08")
def test_serial_waits_until_the_request_before_is_merged_or_closed(
    control: Store, worker: Store
) -> None:
    """One writer a base at a time: at work, then with an open request, then the next one."""
    world = a_world(control)
    all_three = first, second, third = [an_attempt(control, world) for _ in range(3)]
    assert waits(control, all_three) == [None, Bound.MERGE, Bound.MERGE]

    author(control, worker, first)
    propose(control, worker, first)
    assert waits(control, all_three) == [None, Bound.MERGE, Bound.MERGE]

    assert see(control, world, first, RequestState.OPEN) == 0
    assert see(control, world, first, RequestState.MERGED) == 1
    assert waits(control, all_three) == [None, None, Bound.MERGE]
    assert (starts_from(control, first), starts_from(control, second)) == (BASE.sha, HEAD)
    assert see(control, world, first, RequestState.MERGED) == 0

    author(control, worker, second)
    propose(control, worker, second)
    assert see(control, world, second, RequestState.CLOSED) == 1
    assert waits(control, all_three) == [None, None, None]
    assert left(control, first, second, third) == ["merged", "closed", None]


@pytest.mark.contract("O08")
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.UNCHANGED])
def test_a_writer_that_ends_without_a_request_leaves_its_base(
    control: Store, worker: Store, outcome: Outcome
) -> None:
    """Nothing is open, so nobody has to merge or close anything."""
    world = a_world(control)
    first, second = an_attempt(control, world), an_attempt(control, world)

    author(control, worker, first, outcome)

    assert waits(control, [second]) == [None]
    assert left(control, first) == ["ended"]


@pytest.mark.contract("O08")
def test_a_canceled_writer_leaves_and_a_canceled_waiter_is_passed_over(control: Store) -> None:
    """Who will never write keeps nobody waiting."""
    world = a_world(control)
    first, second, third = (an_attempt(control, world) for _ in range(3))

    cancel(control, world, LOCAL, second.id, "not wanted any more")
    assert waits(control, [third]) == [Bound.MERGE]
    catch_up(control, world)
    cancel(control, world, LOCAL, first.id, "not wanted any more")
    observe(control, world)

    assert waits(control, [third]) == [None]


@pytest.mark.contract("O08")
def test_parallel_has_a_bound_and_the_narrowest_of_all_counts(control: Store) -> None:
    """Two at once where both allow it; a serial one shares its base with nobody."""
    world = a_world(control)
    wide = [an_attempt(control, world, merge=2) for _ in range(3)]
    assert waits(control, wide) == [None, None, Bound.MERGE]

    other = a_world(control)
    serial, after = an_attempt(control, other), an_attempt(control, other, merge=9)
    assert waits(control, [serial, after]) == [None, Bound.MERGE]

    third = a_world(control)
    before, late = an_attempt(control, third, merge=9), an_attempt(control, third)
    overtaking = an_attempt(control, third, merge=9)
    assert waits(control, [before, late, overtaking]) == [None, Bound.MERGE, Bound.MERGE]


@pytest.mark.contract("O08")
def test_bases_and_repositories_do_not_wait_for_each_other(control: Store) -> None:
    """Serial is about one base of one repository."""
    world = a_world(control)
    attempts = [
        an_attempt(control, world),
        an_attempt(control, world, branch="next"),
        an_attempt(control, world, url="/srv/other.git"),
        an_attempt(control, a_world(control)),
    ]

    assert waits(control, attempts) == [None] * 4


@pytest.mark.contract("O08")
def test_limits_of_world_and_repository_hold_and_change_live(control: Store, worker: Store) -> None:
    """Who waited longest goes on first; a raised limit lets others begin in the same tick."""
    world = a_world(control)
    set_world(control, world, LOCAL, {"concurrency": 2, "repository_concurrency": 1}, "few hosts")
    here = [an_attempt(control, world, merge=9) for _ in range(3)]
    there = [an_attempt(control, world, merge=9, url="/srv/other.git") for _ in range(2)]
    elsewhere = an_attempt(control, world, merge=9, url="/srv/third.git")
    assert waits(control, here) == [None, Bound.REPOSITORY, Bound.REPOSITORY]
    assert waits(control, there) == [None, Bound.REPOSITORY]
    assert waits(control, [elsewhere]) == [Bound.WORLD]

    set_world(control, world, LOCAL, {"concurrency": 3}, "another host")
    assert waits(control, [elsewhere]) == [None]

    author(control, worker, here[0], Outcome.FAILED)
    assert waits(control, here) == [None, None, Bound.REPOSITORY]

    limits = {"concurrency": None, "repository_concurrency": None}
    set_world(control, world, LOCAL, limits, "many hosts")
    assert waits(control, [*here, *there, elsewhere]) == [None] * 6


@pytest.mark.contract("O08")
def test_an_attempt_keeps_its_place_from_step_to_step(control: Store, worker: Store) -> None:
    """What has begun is finished first: its request does not queue behind new attempts."""
    world = a_world(control)
    set_world(control, world, LOCAL, {"concurrency": 1}, "one host")
    first, second = (an_attempt(control, world, merge=9) for _ in range(2))

    author(control, worker, first)
    assert waits(control, [second]) == [Bound.WORLD]
    propose(control, worker, first)

    assert waits(control, [second]) == [None]


@pytest.mark.contract("O08", "O12")
def test_a_paused_attempt_gives_its_turn_away(control: Store, worker: Store) -> None:
    """It waits for a person then, not for a place; resumed, it queues again."""
    world = a_world(control)
    first, second, third = (an_attempt(control, world) for _ in range(3))
    pause(control, world, LOCAL, second.id, "let the other one go first")

    author(control, worker, first, Outcome.FAILED)
    assert waits(control, [third]) == [None]
    resume(control, world, LOCAL, second.id, "now it may")

    assert waits(control, [second]) == [Bound.MERGE]
    author(control, worker, third, Outcome.FAILED)
    assert waits(control, [second]) == [None]


def see(store: Store, world: WorldId, attempt: Attempt, state: RequestState) -> int:
    """The forge shows the attempt's request so, and its base at another commit."""
    return observe_requests(store, world, {attempt.id: RequestSeen(state, HEAD)})


def starts_from(store: Store, attempt: Attempt) -> str:
    """The commit that the attempt's author was dispatched for."""
    catch_up(store, attempt.world)
    with store.begin() as tx:
        return work_request(activities.get(tx, activity_of(store, attempt)).request).base


def left(store: Store, *attempts: Attempt) -> list[str | None]:
    """Why each attempt no longer writes on its base."""
    with store.begin() as tx:
        rows = tx.execute(select(writers.c.attempt_id, writers.c.left_because))
        found = {row.attempt_id: row.left_because for row in rows}
    return [found[one.id] for one in attempts]
