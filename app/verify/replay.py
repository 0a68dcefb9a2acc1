"""The board as the receipts tell it, verb by verb and decision by decision (L7, L10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from app.domain.digest import Json
from app.verify.legal import RUNNABLE

#: Said of what a verb touched that this code does not know: then any state will do.
UNSAID = "unsaid"

Said: TypeAlias = Mapping[str, Json]


@dataclass(slots=True)
class Order:
    """A work order, as far as it was told."""

    state: str
    digest: str
    author: str
    approved: str | None = None  #: the digest
    approved_by: str | None = None


@dataclass(slots=True)
class Card:
    """A task, as far as it was told."""

    order: str
    column: str = "inbox"
    attempts: list[str] = field(default_factory=list)
    canonical_child: str | None = None


@dataclass(slots=True)
class Step:
    """A step of an attempt, as far as it was told."""

    state: str
    kind: str | None = None
    activity: str | None = None
    outcome: str | None = None
    outputs: Json = None
    gate: int | None = None  #: the tick that let it wait for a person
    decision: tuple[str, str] | None = None  #: what was decided, and by whom
    waits: tuple[str, str] | None = None  #: for which bound, and where
    began: int = 0  #: in which turn, of all decisions of the world
    ended: int = 0


@dataclass(slots=True)
class Attempt:
    """An attempt, as far as it was told."""

    task: str
    order: str = ""
    approved: str | None = None  #: the digest that was approved when it began
    outcome: str | None = None
    canceled: bool = False  #: it was asked for
    steps: dict[str, Step] = field(default_factory=dict)

    def step(self, name: str) -> Step:
        """A step; one that was not told of yet is pending."""
        return self.steps.setdefault(name, Step("pending"))


@dataclass(slots=True)
class Writer:
    """A writer of a base, as far as it was told."""

    repository: str
    base: str
    bound: int
    entered: int  #: the tick
    request: int | None = None
    left: tuple[int, str, str | None] | None = None  #: the tick, why, and the base's commit


@dataclass(slots=True)
class Board:
    """What the receipts so far make of a world: some hundred bytes a card and an attempt."""

    turn: int = 0  #: decisions so far
    settings: Json = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    writers: dict[str, Writer] = field(default_factory=dict)
    here: dict[tuple[str, str], set[str]] = field(default_factory=dict)  #: those of a base now
    at_work: Counter[str] = field(default_factory=Counter)  #: attempt → steps that run

    def runnable(self) -> frozenset[str]:
        """The columns from which a task may be run; a world's settings may add some."""
        more = self.settings.get("like_ready") if isinstance(self.settings, Mapping) else None
        return RUNNABLE | {str(name) for name in more} if isinstance(more, list) else RUNNABLE


def text(said: Said, name: str) -> str:
    """A field as text; empty without one."""
    value = said.get(name)
    return "" if value is None else str(value)


def said_of(receipt: Said) -> Said:
    """A receipt's subject."""
    subject = receipt.get("subject")
    return subject if isinstance(subject, Mapping) else {}


def decisions_of(receipt: Said) -> Iterator[Said]:
    """A receipt's decisions, in order."""
    decisions = receipt.get("decisions")
    for said in decisions if isinstance(decisions, list) else []:
        if isinstance(said, Mapping):
            yield said
