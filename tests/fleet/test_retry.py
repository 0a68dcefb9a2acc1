"""Workers that fail on the way: what follows by itself, within what the work order allows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fixtures.seen import Seen
from fixtures.stack import Stack
from fixtures.world import Attempt

from app.domain.identity import Kind
from app.domain.work_order import RetryRule
from app.kinds import author
from app.transitions.change import LOCAL
from app.transitions.dispatch import dispatch


@pytest.mark.contract("T09")
def test_trouble_that_passes_costs_claims_and_no_attempt(stack: Stack, work: str) -> None:
    """Once the remote can be read again the same activity is done, once."""
    seen = a_run(stack, work, {})
    gone = away(stack)
    stack.build()
    stack.until(lambda: seen.fence() >= 2)

    gone.rename(stack.home / "forge")
    stack.until(lambda: seen.outcome)

    assert seen.outcome == "done"
    assert stack.count("author") == 1


@pytest.mark.contract("T09")
def test_a_work_order_that_allows_no_retry_asks_a_person(stack: Stack, work: str) -> None:
    """The first failure is held, and nothing is claimed again."""
    seen = a_run(stack, work, {"transient": RetryRule(0), "capacity": RetryRule(0)})
    away(stack)
    stack.build()

    stack.until(lambda: held(seen))

    assert held(seen) == "claims_keep_ending"
    assert (seen.fence(), stack.count("author")) == (1, 0)


def a_run(stack: Stack, command: str, retry: Mapping[str, RetryRule]) -> Seen:
    task, base = stack.ready(command, retry=retry)
    attempt = dispatch(stack.store, stack.world, LOCAL, task, base)
    return stack.seen(Attempt(stack.world, task, attempt))


def away(stack: Stack) -> Path:
    """Put the forge where nobody finds it."""
    return (stack.home / "forge").rename(stack.home / "elsewhere")


def held(seen: Seen) -> str | None:
    return seen.unknown(Kind(author.NAME))
