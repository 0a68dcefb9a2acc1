"""A worker killed at any moment of its road: another goes on, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.events import Moment
from app.kinds import author, pull_request

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
LONG = pytest.mark.long
WINDOWS = [
    (f"{Moment.CLAIMED} {AUTHOR}", 1, FRESH, pytest.mark.contract("M04", "A04")),
    (f"{Moment.BOUND} {AUTHOR}", 1, FRESH, LONG),
    (f"{Moment.MARKED} {AUTHOR}", 1, GUARDED, LONG),
    (f"{Moment.STARTED} {AUTHOR}", 1, GUARDED, LONG),
    (f"{Moment.COMMITTED} {AUTHOR}", 2, GUARDED, LONG),
    (f"{Moment.PUSHED} {AUTHOR}", 1, FIRST, pytest.mark.contract("M07")),
    (f"{Moment.RECORDED} {AUTHOR}", 1, FIRST, pytest.mark.contract("M09")),
    (f"{Moment.OPENED} {REQUEST}", 1, FIRST, pytest.mark.contract("O11", "G02")),
    (f"{Moment.RECORDED} {REQUEST}", 1, FIRST, LONG),
]


@pytest.mark.parametrize(
    "window",
    [pytest.param(Window(at, runs, chain), marks=mark) for at, runs, chain, mark in WINDOWS],
    ids=str,
)
def test_a_worker_killed_at_a_moment_is_recovered_without_a_second_effect(
    stack: Stack,
    work: tuple[str, str],
    killed_at: Killed,
    published_once: Published,
    window: Window,
) -> None:
    """After a kill and a wiped Redis there is one request; the program ran no more than said."""
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
