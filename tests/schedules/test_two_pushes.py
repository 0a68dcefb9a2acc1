"""Two processes push the same operation, in every order and with every reply lost (PROTOCOL §2).

A push is two requests over HTTP: a look at what is there, and the push itself, which names what it
saw. The server lets them through in a given order, and loses the replies that it is told to lose.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from doubles.github.access import credential
from doubles.github.exchange import Request
from doubles.github.server import GitHub, Outcome

from app.domain.digest import digest

NAME = "acme/widgets"
ONE, TWO = "one", "two"
STEPS = [f"{who} {what}" for who in (ONE, TWO) for what in ("looks", "pushes")]
ORDERS = [
    order for order in itertools.permutations(STEPS)
    if all(order.index(f"{who} looks") < order.index(f"{who} pushes") for who in (ONE, TWO))
]  # fmt: skip
LOSSES = [
    frozenset(lost) for count in range(len(STEPS) + 1)
    for lost in itertools.combinations(STEPS, count)
]  # fmt: skip


class Ordered(GitHub):
    """A server that takes the steps of pushes in one order, and loses some of its replies."""

    def __init__(self, folder: Path) -> None:
        self._turn = threading.Condition()
        self._left: list[str] = []
        self._lost: frozenset[str] = frozenset()
        self.resent = 0  #: steps that came again: libcurl sends a POST anew after a reset
        super().__init__(folder)

    def expect(self, order: tuple[str, ...], lost: frozenset[str]) -> None:
        """From now on."""
        with self._turn:
            self._left, self._lost = list(order), lost

    def forgo(self, who: str) -> None:
        """A process has ended its push; what it has not done will not come."""
        with self._turn:
            self._left = [step for step in self._left if not step.startswith(who)]
            self._turn.notify_all()

    def answer(self, request: Request) -> Outcome:
        """In its turn."""
        step = self._step(request)
        if step is None:
            return super().answer(request)
        with self._turn:
            is_new = step in self._left
            if is_new:
                assert self._turn.wait_for(
                    lambda: step not in self._left or self._left[0] == step, 30
                )
            self.resent += not is_new
            outcome = super().answer(request)
            if step in self._left:
                self._left.remove(step)
            self._turn.notify_all()
        return Outcome(None) if is_new and step in self._lost else outcome

    def _step(self, request: Request) -> str | None:
        token = self.world.tokens.get(credential(request) or "")
        is_push = request.path.endswith("/git-receive-pack")
        if token is None or not (is_push or request.query.get("service") == "git-receive-pack"):
            return None
        return f"{token.name} {'pushes' if is_push else 'looks'}"


@dataclass
class Pusher:
    """A process that pushes."""

    process: subprocess.Popen[str]

    def ask(self, **asked: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@dataclass(frozen=True)
class Rivals:
    """What each of the two processes pushes, over a chain that has begun or over nothing."""

    name: str
    has_begun: bool
    one: dict[str, Any]
    two: dict[str, Any]


STARTED, GUARDED, RESULT, CLOSED = (
    {"mark": mark} for mark in ("started", "guarded", "result", "closed")
)
RIVALS = [
    Rivals("two claims start", False, {**STARTED, "fence": 1}, {**STARTED, "fence": 2}),
    Rivals("two claims guard", True, {**GUARDED, "fence": 2}, {**GUARDED, "fence": 3}),
    Rivals("a result and a guard", True, {**RESULT, "fence": 1}, {**GUARDED, "fence": 2}),
    Rivals("a result and a close", True, {**RESULT, "fence": 1}, {**CLOSED, "fence": 2}),
    Rivals(
        "one claim twice", True,
        {**RESULT, "fence": 1, "token": "same"}, {**RESULT, "fence": 1, "token": "same"},
    ),
]  # fmt: skip


Ground = tuple[Ordered, list[Pusher]]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The server, and the two processes."""
    folder = tmp_path_factory.mktemp("pushes")
    with ExitStack() as stack:
        github = stack.enter_context(Ordered(folder / "github"))
        made = github.door.add_repository(full_name=NAME)
        pushers = [
            stack.enter_context(_pusher(folder / who, github, made["url"], who))
            for who in (ONE, TWO)
        ]
        yield github, pushers


@pytest.mark.contract("L4", "M07")
@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
@pytest.mark.parametrize("rivals", RIVALS, ids=lambda one: one.name)
def test_one_wins_and_both_know_it(ground: Ground, rivals: Rivals, order: tuple[str, ...]) -> None:
    """With the reply of each push lost in turn, and of both: one is there, and both know whose."""
    is_even = (ORDERS.index(order) + RIVALS.index(rivals)) % 2 == 0
    for lost in ({f"{ONE if is_even else TWO} pushes"}, {f"{ONE} pushes", f"{TWO} pushes"}):
        race(ground, rivals, order, frozenset(lost))


@pytest.mark.long
@pytest.mark.contract("L4", "M07")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
@pytest.mark.parametrize("rivals", RIVALS, ids=lambda one: one.name)
def test_so_it_is_whatever_is_lost(ground: Ground, rivals: Rivals, order: tuple[str, ...]) -> None:
    """With none, some or all replies lost; a push that was lost at its look is not there."""
    for lost in LOSSES:
        race(ground, rivals, order, lost)


def race(ground: Ground, rivals: Rivals, order: tuple[str, ...], lost: frozenset[str]) -> None:
    """Let both push; what each has found out is what the server has."""
    github, pushers = ground
    operation = digest(f"{rivals.name} {order} {sorted(lost)}".encode())
    branch = f"fencepost/{operation[:12]}"
    github.expect((), frozenset())
    if rivals.has_begun:
        pushers[0].ask(operation=operation, mark="started", fence=1, token=ONE)
        assert pushers[0].hear()["verdict"] == "done"
    before = tip(github, operation)
    github.expect(order, lost)

    one, two = _both(github, pushers, rivals, operation, branch)

    after = tip(github, operation)
    told = f"{rivals.name}, {order}, lost {sorted(lost)}: {one}, {two}"
    pushed = [mine for who, mine in ((ONE, one), (TWO, two)) if f"{who} looks" not in lost]
    assert after in {before, *(mine["sha"] for mine in pushed)}, told
    assert (after != before) == bool(pushed), f"nobody won, or nobody pushed: {told}"
    for mine in (one, two):
        is_there = after == mine["sha"]
        assert is_there or mine["verdict"] != "done", f"it is not there: {told}"
        if mine in pushed:
            assert (mine["seen"] == mine["sha"]) == is_there, f"it does not know: {told}"
    winner = rivals.one if after == one["sha"] else rivals.two
    has_branch = after != before and winner["mark"] == "result"
    head = github.door.refs(NAME, f"refs/heads/{branch}").get(f"refs/heads/{branch}")
    assert head == (one["candidate"] if has_branch else None), f"ref and branch differ: {told}"


def tip(github: GitHub, operation: str) -> str | None:
    """Where the operation is at the server."""
    ref = f"refs/fencepost/operations/{operation}"
    found: str | None = github.door.refs(NAME, ref).get(ref)
    return found


def _both(
    github: Ordered, pushers: list[Pusher], rivals: Rivals, operation: str, branch: str
) -> list[Any]:
    """Let both push at once; what each of them came to."""
    for who, pusher, asked in zip((ONE, TWO), pushers, (rivals.one, rivals.two), strict=True):
        pusher.ask(**{"operation": operation, "branch": branch, "token": who, **asked})
    heard: dict[str, Any] = {}

    def listen(who: str, pusher: Pusher) -> None:
        heard[who] = pusher.hear()
        github.forgo(who)

    threads = [
        threading.Thread(target=listen, args=pair) for pair in zip((ONE, TWO), pushers, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [heard[ONE], heard[TWO]]


@contextmanager
def _pusher(folder: Path, github: Ordered, url: str, who: str) -> Iterator[Pusher]:
    token = github.door.add_token(name=who)
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("pusher.py")), str(folder),
         github.api, url],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "PUSHER_TOKEN": token},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Pusher(process)
        finally:
            process.kill()
