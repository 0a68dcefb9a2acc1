"""Redis only carries: wiped at any time, no work is lost and none is done twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.seen import Seen
from fixtures.stack import Stack

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
