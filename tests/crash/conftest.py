"""What every crash must leave behind: one of everything."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.domain.board import Column
from app.domain.pull_request import RequestState
from app.kinds import pull_request


@pytest.fixture
def work(stack: Stack) -> tuple[str, str]:
    """A command that changes the source and a check that passes, each counted outside."""
    command = f"{stack.counted('author')}; echo 'y = 2' >> a.py"
    return command, f"{stack.counted('check')}; grep -q y a.py"


@pytest.fixture
def waiting(stack: Stack) -> str:
    """The same command, which ends only once there is a file `go` outside."""
    wait = f"until [ -e {stack.outside}/go ]; do sleep 0.05; done"
    return f"{stack.counted('author')}; {wait}; echo 'y = 2' >> a.py"


@pytest.fixture
def killed_at(stack: Stack) -> Callable[[Role], None]:
    """Kill a role at its moment, and throw away every other process and all of Redis."""

    def kill(role: Role) -> None:
        stack.until(lambda: role.is_stopped)
        role.kill()
        stack.throw_away()

    return kill


@pytest.fixture
def published_once(stack: Stack) -> Callable[[Seen], None]:
    """Wait for the end, and hold every copy of the outcome against the others."""

    def check(seen: Seen) -> None:
        stack.until(lambda: seen.is_over)

        assert (seen.outcome, seen.column) == ("done", Column.REVIEW), stack.logs()
        assert seen.steps == {"author": "succeeded", "pull_request": "succeeded"}
        (request,) = seen.requests
        assert (request.state, request.head_sha) == (RequestState.OPEN, seen.head)
        assert seen.observation() == seen.published
        recorded = seen.observation(pull_request.NAME)
        assert recorded
        assert f'"number":{request.number},' in recorded.decode()
        stack.until(lambda: not list((stack.home / "checkouts").glob("*")))
        assert seen.open_claims() == 0

    return check
