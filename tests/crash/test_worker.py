"""A worker killed at any moment of its road: another goes on, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from fixtures import role
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.domain.operation import ref_of
from app.events import Moment
from app.kinds import author, pull_request
from app.repository.git import git

Killed = Callable[[Role], None]
Published = Callable[[Seen], None]
AUTHOR = f"kind={author.NAME}"
REQUEST = f"kind={pull_request.NAME}"


@dataclass(frozen=True, slots=True)
class Window:
    """Where the worker dies, how often its program has run by the end, and what the ref says."""

    at: str
    runs: int
    chain: tuple[str, ...]

    def __str__(self) -> str:
        return self.at.partition(" ")[0]


FRESH = ("started under fence 2", "result under fence 2")
FIRST = ("started under fence 1", "result under fence 1")
GUARDED = ("started under fence 1", "guarded under fence 2", "result under fence 2")
WINDOWS = [
    pytest.param(Window(f"{Moment.CLAIMED} {AUTHOR}", 1, FRESH), marks=pytest.mark.contract("M04")),
    pytest.param(Window(f"{Moment.BOUND} {AUTHOR}", 1, FRESH), marks=pytest.mark.long),
    pytest.param(Window(f"{Moment.MARKED} {AUTHOR}", 1, GUARDED), marks=pytest.mark.contract("M06")),
    pytest.param(Window(f"{Moment.STARTED} {AUTHOR}", 1, GUARDED), marks=pytest.mark.long),
    pytest.param(Window(f"{Moment.COMMITTED} {AUTHOR}", 2, GUARDED), marks=pytest.mark.long),
    pytest.param(Window(f"{Moment.PUSHED} {AUTHOR}", 1, FIRST), marks=pytest.mark.contract("M07")),
    pytest.param(Window(f"{Moment.RECORDED} {AUTHOR}", 1, FIRST), marks=pytest.mark.contract("M09")),
    pytest.param(
        Window(f"{Moment.OPENED} {REQUEST}", 1, FIRST), marks=pytest.mark.contract("O11", "G02")
    ),
    pytest.param(Window(f"{Moment.RECORDED} {REQUEST}", 1, FIRST), marks=pytest.mark.long),
]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_worker_killed_at_a_moment_is_recovered_without_a_second_effect(
    stack: Stack, work: tuple[str, str], killed_at: Killed, published_once: Published, window: Window
) -> None:
    """After a kill and a wiped Redis there is one request, and the program ran no more than said."""
    attempt = stack.dispatch(*work)
    seen = stack.seen(attempt)
    stack.start_dispatcher()
    killed_at(stack.start_worker(window.at))
    head = seen.head

    stack.build()

    published_once(seen)
    assert (stack.count("author"), stack.count("check")) == (window.runs, window.runs)
    assert tuple(seen.chain) == window.chain
    assert head in ("", seen.head)
