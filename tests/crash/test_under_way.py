"""What is on record while a program runs, before anything could go wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
import redis
from fixtures.seen import Seen
from fixtures.stack import Stack

Published = Callable[[Seen], None]


@pytest.mark.contract("L4", "Q11")
def test_a_running_program_has_its_start_row_and_no_message(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """Without the row a cancel could overtake it; an unacknowledged message would come again."""
    stack.build()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    with closing(redis.Redis.from_url(stack.redis_url)) as client:
        unacknowledged = client.hlen("unacked")

    assert (seen.starts(), unacknowledged) == (1, 0)
    (stack.outside / "go").touch()
    published_once(seen)
