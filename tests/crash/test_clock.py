"""Wrong clocks on workers and dispatcher: time is the database's, so nothing changes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fixtures import role
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import LEASE, Stack
from sqlalchemy import func, select

from app.store.fencing import of_key
from app.store.schema import claims

_SHIFTED = str(Path(__file__).with_name("shifted.py"))
TEN_MINUTES = timedelta(minutes=10)

pytestmark = pytest.mark.contract("Q13")


@pytest.mark.parametrize("ahead", [1, -1], ids=["worker ahead", "worker behind"])
def test_ten_minutes_between_the_clocks_change_nothing(
    stack: Stack, waiting: str, ahead: int
) -> None:
    """A run outlives its lease, a kill -9 costs one lease, and the next worker ends the work."""
    dispatcher = started(stack, -ahead * TEN_MINUTES, stack.database.app_url, "app.dispatcher")
    worker = a_worker(stack, ahead * TEN_MINUTES)
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))
    for one, by in ((dispatcher, -ahead), (worker, ahead)):
        assert abs(clock_of(one) - datetime.now(UTC) - by * TEN_MINUTES) < timedelta(minutes=1)

    stack.until(lambda: held_for(seen) > LEASE * 1.5)
    assert (seen.fence(), stack.count("author")) == (1, 1)
    worker.kill()
    a_worker(stack, ahead * TEN_MINUTES)

    stack.until(lambda: stack.count("author") == 2)
    assert recovered_after(seen) < timedelta(minutes=1), "the clocks' ten minutes are in it"
    (stack.outside / "go").touch()
    stack.until(lambda: seen.is_over)
    assert (seen.outcome, seen.fence(), stack.count("author")) == ("done", 2, 2)
    assert len(seen.requests) == 1


def a_worker(stack: Stack, by: timedelta) -> Role:
    return started(stack, by, stack.database.worker_url, "workers", "--slots", "4")


def started(stack: Stack, by: timedelta, url: str, *words: str) -> Role:
    """A role whose clock is wrong by so much."""
    one = role.start(
        words, environment=stack.environment(url), directory=stack.home,
        logs=stack.home / "logs", launcher=(_SHIFTED, str(by.total_seconds())),
    )  # fmt: skip
    stack.roles.append(one)
    return one


def clock_of(one: Role) -> datetime:
    """What a role takes for the time of day, as its log has it."""
    said = re.search(r"^(\S+) INFO \w+ role\.started", one.log.read_text(), re.MULTILINE)
    assert said
    return datetime.fromisoformat(said[1])


def held_for(seen: Seen) -> timedelta:
    """How long the first claim has been there, by the database's clock."""
    with seen.store.begin() as tx:
        length: timedelta = tx.execute(
            select(func.clock_timestamp() - claims.c.claimed_at)
            .where(of_key(claims, seen.key()), claims.c.fence == 1)
        ).scalar_one()  # fmt: skip
    return length


def recovered_after(seen: Seen) -> timedelta:
    """From the first lease's end to the second claim."""
    with seen.store.begin() as tx:
        rows = tx.execute(
            select(claims.c.claimed_at, claims.c.lease_until)
            .where(of_key(claims, seen.key())).order_by(claims.c.fence)
        ).all()  # fmt: skip
    gap: timedelta = rows[1].claimed_at - rows[0].lease_until
    return gap
