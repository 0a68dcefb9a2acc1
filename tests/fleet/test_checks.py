"""A step that watches checks, at the forge that has none (O10, G08)."""

from __future__ import annotations

import pytest
from fixtures.seen import Seen
from fixtures.stack import Stack
from fixtures.watching import KIND, workflow
from fixtures.world import Attempt

from app.domain.digest import parse
from app.repository.requests import close
from app.transitions.change import LOCAL
from app.transitions.decide import decide
from app.transitions.dispatch import dispatch

pytestmark = pytest.mark.contract("O10", "G08")


@pytest.fixture
def seen(stack: Stack) -> Seen:
    """An attempt at the local forge whose request is open."""
    command = "echo 'y = 2' >> a.py"
    task, base = stack.ready(command, workflow=workflow(command))
    attempt = dispatch(stack.store, stack.world, LOCAL, task, base)
    seen = stack.seen(Attempt(stack.world, task, attempt))
    stack.build()
    stack.until(lambda: seen.steps.get("ready") == "dispatched")
    return seen


def begin(stack: Stack, seen: Seen) -> None:
    decide(
        stack.store, stack.world, LOCAL, seen.attempt.id, "ready", "it may", approved=True
    )  # fmt: skip
    stack.until(lambda: seen.is_over)


def test_the_local_forge_has_no_checks_and_says_so_at_once(stack: Stack, seen: Seen) -> None:
    """One look, and it is green."""
    begin(stack, seen)

    said = parse(seen.observation(KIND) or b"null")
    assert isinstance(said, dict)
    assert (seen.outcome, seen.fence(KIND)) == ("done", 1)
    assert '"note":"the commit has no checks"' in str(seen.observation(KIND))


def test_a_request_that_was_closed_fails_there_too(stack: Stack, seen: Seen) -> None:
    """As at any other forge."""
    close(seen.mirror, 1)

    begin(stack, seen)

    assert (seen.outcome, seen.fence(KIND)) == ("failed", 1)
    assert "request_closed" in str(seen.observation(KIND))
