"""Redis only carries: wiped at any time, no work is lost and none is done twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
import redis
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.kinds import author

Published = Callable[[Seen], None]
pytestmark = pytest.mark.contract("L1", "Q11")


def test_work_that_waited_in_a_wiped_redis_is_delivered_again(
    stack: Stack, work: tuple[str, str], published_once: Published
) -> None:
    """FLUSHALL with the message queued and no worker there; the dispatcher notices and resends."""
    dispatcher = stack.start_dispatcher()
    seen = stack.seen(stack.dispatch(*work))
    stack.until(lambda: dispatcher.says("delivery.published"))

    stack.wipe_redis()
    stack.until(lambda: dispatcher.says("broker.wiped replaced=1"))
    stack.start_worker()

    published_once(seen)
    assert stack.count("author") == 1


def test_work_that_runs_does_not_notice_a_wiped_redis(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """FLUSHALL in mid-run; the run is recorded once, and its request is delivered as ever."""
    stack.build()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    stack.wipe_redis()
    (stack.outside / "go").touch()

    published_once(seen)
    assert stack.count("author") == 1


@pytest.mark.contract("Q10")
def test_a_message_that_comes_many_times_is_done_once(
    stack: Stack, work: tuple[str, str], published_once: Published
) -> None:
    """Doubled while it waits, replayed after the end: each copy gets a verdict and is dropped."""
    dispatcher = stack.start_dispatcher()
    seen = stack.seen(stack.dispatch(*work))
    stack.until(lambda: dispatcher.says("delivery.published"))
    with closing(redis.Redis.from_url(stack.redis_url)) as client:
        (message,) = client.lrange(author.NAME, 0, -1)
        client.lpush(author.NAME, *[message] * 4)

        worker = stack.start_worker()
        published_once(seen)
        client.lpush(author.NAME, message)

    stack.until(lambda: verdicts(stack).count("duplicate") == 4 and "ended" in verdicts(stack))
    assert worker.is_alive
    assert (stack.count("author"), len(seen.requests)) == (1, 1)


@pytest.mark.parametrize(
    "trouble",
    ["CLIENT KILL TYPE normal", pytest.param("CLIENT PAUSE 9000 ALL", marks=pytest.mark.long)],
    ids=["all connections cut", "no answer for nine seconds"],
)
def test_work_outlasts_trouble_with_redis(
    stack: Stack, waiting: str, published_once: Published, trouble: str
) -> None:
    """The run neither ends nor starts again, and its request is opened once Redis is back."""
    stack.build()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    with closing(redis.Redis.from_url(stack.redis_url)) as client:
        client.execute_command(*trouble.split())  # type: ignore[no-untyped-call]  # untyped there
    (stack.outside / "go").touch()

    published_once(seen)
    assert stack.count("author") == 1
    assert all(role.is_alive for role in stack.roles)


def verdicts(stack: Stack) -> list[str]:
    with stack.database.as_superuser() as session:
        return [row[0] for row in session.execute("select verdict from fencepost.verdicts")]
