"""Seeded schedules: what goes wrong in one run, the same for the same seed, on every machine.

    for step in schedule(seed, "acme/widgets"):
        getattr(door, step.door)(**step.arguments)

Every fault strikes a bounded number of times, so that a client that never gives up gets through,
or meets something that only a person can decide.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from doubles.github import limits

BROKEN = (500, 502, 503, 504)
WRITE_KINDS = (
    "stored_then_status", "stored_then_reset", "stored_then_hang", "cut_body",
    "late_status", "late_reset", "status", "reset", "hang", "rate_limit",
)  # fmt: skip
READ_KINDS = ("status", "reset", "hang", "cut_body", "rate_limit")
PUSH_KINDS = (
    "stored_then_status", "stored_then_reset", "stored_then_hang", "late_reset",
    "status", "reset", "hang",
)  # fmt: skip
LAGS = ("list", "pull", "head", "head_sha", "compare", "branch", "node", "exists")
#: the answer is lost, and something is there
LOST_KINDS = ("stored_then_status", "stored_then_reset", "stored_then_hang", "cut_body")


@dataclass(frozen=True)
class Places:
    """The requests that matter, of one repository."""

    full_name: str

    def at(self, method: str, rest: str) -> dict[str, str]:
        return {"method": method, "path": f"/repos/{self.full_name}/{rest}"}

    @property
    def create(self) -> dict[str, str]:
        return self.at("POST", "pulls")

    @property
    def listing(self) -> dict[str, str]:
        return self.at("GET", "pulls")

    @property
    def status(self) -> dict[str, str]:
        return self.at("POST", "statuses/*")

    @property
    def push(self) -> dict[str, str]:
        return {"method": "POST", "path": f"/{self.full_name}.git/git-receive-pack"}

    @property
    def refs(self) -> dict[str, str]:
        return {"method": "GET", "path": f"/{self.full_name}.git/info/refs"}


@dataclass(frozen=True)
class Step:
    """One call of the door, made before the run begins."""

    door: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Patience:
    """How long things take, in seconds: below and above what the client waits for."""

    hang: float = 2.0
    late: float = 0.5
    limit: float = 1.0


def schedule(
    seed: int, full_name: str, patience: Patience | None = None, people: bool = True
) -> list[Step]:
    """One to four things that go wrong, most of them at the creation; with bad luck, together."""
    die = random.Random(seed)
    waits, at = patience or Patience(), Places(full_name)
    made: list[Step] = []
    for _ in range(die.choice((1, 2, 2, 3, 3, 4))):
        kinds: list[Callable[[], Step]] = [
            lambda: fault(die, at.create, WRITE_KINDS, waits),
            lambda: fault(die, at.create, WRITE_KINDS, waits),
            lambda: fault(die, at.listing, READ_KINDS, waits),
            lambda: fault(die, at.push, PUSH_KINDS, waits),
            lambda: fault(die, die.choice((at.refs, at.status)), READ_KINDS, waits),
            lambda: lag(die, full_name),
        ]
        if people:
            kinds.append(lambda: deed(die, full_name))
        made.append(die.choice(kinds)())
    if people and die.random() < 0.3:
        made += unlucky(die, full_name, waits)
    return made


def unlucky(die: random.Random, full_name: str, waits: Patience) -> list[Step]:
    """A create whose answer is lost, and whose request is then not to be found as it was left."""
    at = Places(full_name)
    lost = fault(die, at.create, LOST_KINDS, waits)
    made = [Step(lost.door, {**lost.arguments, "nth": 1, "times": 1})]
    if die.random() < 0.5:
        name, more = die.choice(
            [("close_newest", {}), ("merge_newest", {}), ("retarget_newest", {"base": "elsewhere"})]
        )
        arguments = {"name": name, "arguments": {"full_name": full_name, **more}, **at.create}
        return [*made, Step("add_deed", {**arguments, "nth": 1, "when": "after"})]
    looks = {"looks": die.choice((1, 2, 3)), "full_name": full_name}
    return [*made, *(Step("add_lag", {"kind": kind, **looks}) for kind in ("list", "exists"))]


def fault(
    die: random.Random, where: dict[str, str], kinds: tuple[str, ...], waits: Patience
) -> Step:
    """Something that happens to one of the first requests of a kind, and perhaps to the next."""
    kind = die.choice(kinds)
    arguments: dict[str, Any] = {"kind": kind, **where}
    arguments |= {"nth": die.choice((1, 1, 1, 2)), "times": die.choice((1, 1, 2, 3))}
    if kind.endswith("status"):
        arguments["status"] = die.choice(BROKEN)
    if kind.endswith("hang"):
        arguments |= {"seconds": waits.hang, "times": 1}
    if kind.startswith("late"):
        arguments |= {"seconds": die.choice((waits.late, 3 * waits.late)), "times": 1}
    if kind == "rate_limit":
        arguments |= {"form": die.choice(limits.NAMES), "seconds": waits.limit}
    return Step("add_fault", arguments)


def lag(die: random.Random, full_name: str) -> Step:
    """Something new that is not shown at the first looks."""
    kind = die.choice(LAGS)
    arguments: dict[str, Any] = {"kind": kind, "looks": die.choice((1, 2, 3))}
    arguments["full_name"] = full_name
    if kind == "head":
        arguments["form"] = die.choice(("invalid", "no_commits", "blank_sha"))
    return Step("add_lag", arguments)


def deed(die: random.Random, full_name: str) -> Step:
    """Somebody who does something between two requests of ours."""
    name, more = die.choice(
        [
            ("close_newest", {}),
            ("merge_newest", {}),
            ("retarget_newest", {"base": "elsewhere"}),
            ("double_newest", {}),
            ("delete_newest_head", {}),
            ("push_on_newest", {}),
            ("edit_newest", {"body": "I know better."}),
            ("open_on_unrequested", {"prefix": ""}),
            ("delete_refs", {}),
        ]
    )
    at = Places(full_name)
    moments = [(at.create, "before"), (at.create, "after"), (at.listing, "before")]
    where, when = die.choice([*moments, (at.push, "after"), (at.status, "after")])
    arguments = {"name": name, "arguments": {"full_name": full_name, **more}, **where}
    return Step("add_deed", {**arguments, "nth": die.choice((1, 1, 2)), "when": when})
