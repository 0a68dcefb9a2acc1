"""What a work order allows to run, as canonical JSON bound by its digest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from app.domain.digest import Json, text
from app.domain.executor import COMMAND
from app.domain.extent import WHOLE, Extent

#: The fact that says what a work order says; its earlier values are its earlier revisions.
COMPONENT = "WorkOrder"

LONGEST_TITLE = 200

MOST_PARALLEL = 1_000  #: open requests on one base

#: The failure classes that are retried by themselves, so that a work order can tighten them (T09).
RETRIED = ("transient", "capacity", "lost_worker")


class MergeStrategy(StrEnum):
    """How many requests on one base may be open at once (O08)."""

    SERIAL = "serial"  #: the next writer waits until the last request is merged or closed
    PARALLEL = "parallel"


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent, and what it is asked to do."""

    name: str
    prompt: str

    def value(self) -> Mapping[str, Json]:
        """The canonical form."""
        return {"name": text(self.name), "prompt": text(self.prompt)}


@dataclass(frozen=True, slots=True)
class Budget:
    """What a work order may use up before a person is asked; None: no bound (T11)."""

    attempts: int | None = None
    wall_time: timedelta | None = None
    cost: int | None = None  #: millionths of a US dollar, where the agent reports them
    tokens: int | None = None  #: where the agent reports them
    repeated_failures: int | None = None  #: of one signature

    def value(self) -> Mapping[str, Json]:
        """The canonical form."""
        return {
            "attempts": self.attempts,
            "wall_time_s": None if self.wall_time is None else _seconds(self.wall_time),
            "cost_microdollars": self.cost,
            "tokens": self.tokens,
            "repeated_failures": self.repeated_failures,
        }


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How a work order tightens the retries of one failure class (T09)."""

    attempts: int  #: automatic ones
    backoff: timedelta | None = None  #: before the first; None: as the policy has it

    def value(self) -> Mapping[str, Json]:
        """The canonical form."""
        backoff = None if self.backoff is None else _seconds(self.backoff)
        return {"attempts": self.attempts, "backoff_s": backoff}

    def tightened(self, other: RetryRule) -> RetryRule:
        """Both at once: fewer attempts, and the longer pause."""
        pauses = [pause for pause in (self.backoff, other.backoff) if pause is not None]
        return RetryRule(min(self.attempts, other.attempts), max(pauses, default=None))


def tightest(
    rules: Mapping[str, RetryRule], more: Mapping[str, RetryRule]
) -> Mapping[str, RetryRule]:
    """Both sets of rules at once, by failure class; where both speak of a class, both hold."""
    found = dict(rules)
    for name, rule in more.items():
        found[name] = rule.tightened(found[name]) if name in found else rule
    return found


class Supersede(StrEnum):
    """What becomes of an earlier attempt's open request when a later one has its own."""

    KEEP = "keep"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Style:
    """How the pull request looks at its forge, besides its text."""

    draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()  #: `team/NAME` is a team of the owner's
    supersede: Supersede = Supersede.KEEP

    def value(self) -> Mapping[str, Json]:
        """The canonical form."""
        return {
            "draft": self.draft,
            "labels": [text(label) for label in self.labels],
            "reviewers": [text(reviewer) for reviewer in self.reviewers],
            "supersede": self.supersede,
        }


PLAIN = Style()


@dataclass(frozen=True, slots=True)
class Specification:
    """Work on one base, within a path scope and a budget, and the checks that must pass."""

    title: str
    base: str  #: branch, or a full sha for a detached base
    paths: tuple[str, ...]  #: git's `:(glob)` dialect, `!` excludes; none: the whole repository
    command: tuple[str, ...]  #: none with an agent
    checks: tuple[str, ...]
    timeout: timedelta
    check_timeout: timedelta
    executor: str = COMMAND
    agent: Agent | None = None
    workflow: Mapping[str, Json] | None = None  #: None: the author, then the pull request
    budget: Budget = Budget()
    merge: MergeStrategy = MergeStrategy.SERIAL
    merge_bound: int = 1  #: open requests on one base
    retry: Mapping[str, RetryRule] = field(default_factory=dict)  #: by failure class
    second_person: bool = False  #: its author may not approve it (S05)
    style: Style = PLAIN
    checkout: Extent = WHOLE  #: how much of the repository a run sees

    def value(self) -> Mapping[str, Json]:
        """The canonical form, texts in NFC; an ordinary style or checkout is left out."""
        style = {} if self.style == PLAIN else {"style": self.style.value()}
        checkout = {} if self.checkout == WHOLE else {"checkout": self.checkout.value()}
        return {
            "v": 1,
            "title": text(self.title),
            "base": text(self.base),
            "paths": [text(path) for path in self.paths],
            "command": [text(word) for word in self.command],
            "checks": [text(check) for check in self.checks],
            "timeout_s": _seconds(self.timeout),
            "check_timeout_s": _seconds(self.check_timeout),
            "executor": self.executor,
            "agent": None if self.agent is None else self.agent.value(),
            "workflow": self.workflow,
            "budget": self.budget.value(),
            "merge": {"strategy": self.merge, "bound": self.merge_bound},
            "retry": {name: rule.value() for name, rule in self.retry.items()},
            "second_person": self.second_person,
            **style,
            **checkout,
        }


def shortened(words: str, longest: int = LONGEST_TITLE) -> str:
    """Words as a title: on one line, printable, cut; nothing may be left of them."""
    line = " ".join(text(words).split())
    clean = "".join(sign for sign in line if sign.isprintable())
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def slug(title: str, limit: int = 40) -> str:
    """A title as part of a branch name: lower-case ASCII words joined by hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].strip("-")
    return words or "change"


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
