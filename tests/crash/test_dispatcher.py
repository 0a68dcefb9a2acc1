"""The dispatcher holds no state: killed at any moment, started again, it leaves no difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack
from fixtures.world import Attempt

from app.events import Moment
from app.kinds import author
from app.store import attempts
from app.transitions.change import LOCAL
from app.transitions.dispatch import dispatch

Killed = Callable[[Role], None]
Published = Callable[[Seen], None]
AUTHOR = f"kind={author.NAME}"
_DISPATCHING = Path(__file__).with_name("dispatching.py")


@pytest.mark.contract("O06")
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(f"{Moment.ADMITTED} {AUTHOR}", marks=pytest.mark.contract("M03")),
        pytest.param(f"{Moment.PUBLISHED} {AUTHOR}", marks=pytest.mark.contract("Q01")),
        pytest.param(f"{Moment.STAGED} {AUTHOR}", marks=pytest.mark.contract("M10")),
        pytest.param(f"{Moment.TICKED}", marks=pytest.mark.contract("M11")),
        pytest.param(f"{Moment.SETTLED} {AUTHOR}", marks=pytest.mark.long),
    ],
    ids=lambda moment: moment.partition(" ")[0],
)
def test_a_dispatcher_killed_at_a_moment_is_simply_started_again(
    stack: Stack, work: tuple[str, str], killed_at: Killed, published_once: Published, moment: str
) -> None:
    """After a kill and a wiped Redis the attempt ends as ever, and the author ran once."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_worker()
    killed_at(stack.start_dispatcher(moment))

    stack.build()

    published_once(seen)
    assert (stack.count("author"), stack.count("check")) == (1, 1)


@pytest.mark.contract("M01")
def test_whoever_dispatches_may_die_before_the_commit(
    stack: Stack, work: tuple[str, str], published_once: Published
) -> None:
    """Killed while its transaction waits for the world: no attempt; the next one is the first."""
    task, base = stack.ready(*work)
    arguments = (stack.world, task, base.branch, base.sha)
    with stack.database.as_superuser() as session:
        session.execute("select from fencepost.worlds for update")
        dispatching = stack.start_script(_DISPATCHING, *arguments, stops_at=Moment.DISPATCHED)
        stack.until(lambda: is_waiting_for_a_lock(stack))
        dispatching.kill()
    with stack.store.begin() as tx:
        assert attempts.latest(tx, stack.world, task) is None

    dispatch(stack.store, stack.world, LOCAL, task, base)
    stack.roles.clear()
    stack.build()

    published_once(stack.seen(only_attempt(stack, task)))
    assert stack.count("author") == 1


@pytest.mark.contract("M02")
def test_whoever_dispatched_may_die_after_the_commit(
    stack: Stack, work: tuple[str, str], killed_at: Killed, published_once: Published
) -> None:
    """The receipt is enough: a dispatcher that was not there projects it, and no tick is rerun."""
    task, base = stack.ready(*work)
    arguments = (stack.world, task, base.branch, base.sha)
    killed_at(stack.start_script(_DISPATCHING, *arguments, stops_at=Moment.DISPATCHED))
    seen = stack.seen(only_attempt(stack, task))

    stack.build()

    published_once(seen)
    assert stack.count("author") == 1


def test_a_dispatcher_killed_in_mid_run_is_not_missed_until_the_result(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """The worker finishes its work alone; a dispatcher that comes later takes it on from there."""
    seen = stack.seen(stack.dispatch(waiting))
    dispatcher = stack.start_dispatcher()
    stack.start_worker()
    stack.until(lambda: stack.count("author"))

    dispatcher.kill()
    (stack.outside / "go").touch()
    stack.until(seen.observation)
    stack.start_dispatcher()

    published_once(seen)
    assert stack.count("author") == 1


def test_two_dispatchers_at_once_do_each_thing_once(
    stack: Stack, work: tuple[str, str], published_once: Published
) -> None:
    """Doubled messages and raced ticks change nothing; each attempt ends with one request."""
    for _ in range(2):
        stack.start_dispatcher()
    stack.start_worker()

    all_seen = [stack.seen(stack.dispatch(*work)) for _ in range(4)]

    stack.until(lambda: all(seen.is_over for seen in all_seen))
    assert stack.count("author") == 4
    assert [seen.outcome for seen in all_seen] == ["done"] * 4
    assert sorted(request.number for request in all_seen[0].requests) == [1, 2, 3, 4]


def only_attempt(stack: Stack, task: str) -> Attempt:
    with stack.store.begin() as tx:
        latest = attempts.latest(tx, stack.world, task)
    assert latest is not None
    return Attempt(stack.world, task, latest.attempt_id)


def is_waiting_for_a_lock(stack: Stack) -> bool:
    query = (
        "select from pg_stat_activity"
        " where application_name = 'test-dispatching' and wait_event_type = 'Lock'"
    )
    with stack.database.as_superuser() as session:
        return session.execute(query).fetchone() is not None
