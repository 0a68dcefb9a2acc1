"""What an executor is: something that works on a checkout and says how it ended (E07, T10).

An executor says what it can do (`capabilities`) and makes a run ready (`prepare`). The session that
this gives works (`run`), tells what happens as it happens (`on_event`), ends when it is told to
(`stop`), and judges afterwards (`collect`). None of it approves, accepts or publishes (L11).
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeAlias

from app.domain.digest import Json
from app.domain.event import EventType
from workers.workspace.box import Box
from workers.workspace.process import Ended


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an executor can do; one without `resume` is never resumed (T10)."""

    cancel: bool
    resume: bool
    isolation: bool = False  #: it runs what it runs in the box that it is given


@dataclass(frozen=True, slots=True)
class Assignment:
    """One run: what to do, where, with what, and for how long."""

    argv: tuple[str, ...]  #: the program and its arguments; none for an agent
    prompt: str | None  #: what an agent is asked to do
    tree: Path  #: the working directory
    scratch: Path  #: the run's own folder beside it; home and temporary folder are in it
    environment: Mapping[str, str]  #: all of it
    marker: Mapping[str, str]  #: by which every process of the run is found
    deadline: timedelta
    stall: timedelta | None
    box: Box | None = None  #: what the run is shut into; None: nothing keeps it apart

    def box_to(self, model: str) -> Box | None:
        """The same box, from which the model at this address can be reached."""
        return self.box and dataclasses.replace(self.box, model=model)


@dataclass(frozen=True, slots=True)
class Spawned:
    """The agent's process has started."""

    pid: int


@dataclass(frozen=True, slots=True)
class Wrote:
    """The agent wrote something, on either stream."""

    chunk: bytes


@dataclass(frozen=True, slots=True)
class Noted:
    """The agent reported something: an event of the attempt, bounded, fit for canonical bytes."""

    type: EventType
    value: Mapping[str, Json]


Happening: TypeAlias = Spawned | Wrote | Noted


@dataclass(frozen=True, slots=True)
class Usage:
    """What the agent says it used; None is what it does not say, which is never zero (E11)."""

    input_tokens: int | None = None
    cached_tokens: int | None = None  #: of the input
    output_tokens: int | None = None
    cost: int | None = None  #: millionths of a US dollar

    def value(self) -> dict[str, Json]:
        """The canonical form."""
        return {
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
            "cost_microdollars": self.cost,
        }


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a run is not done; its code has a class in `app/domain/failure.py`."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the executor makes of an ended run."""

    problem: Problem | None  #: None: it takes the work for done
    usage: Usage | None = None  #: None: it reports none


class Session(Protocol):
    """One run that is ready."""

    @property
    def shown(self) -> tuple[str, ...]:
        """What runs, as people may read it: no secret is in it."""

    def run(self, *, on_event: Callable[[Happening], None], stop: threading.Event) -> Ended:
        """Work until done, stopped or out of time; nothing of the run is left when it returns."""

    def collect(self, ended: Ended) -> Outcome:
        """Judge the run by its last word and its exit together."""


class Executor(Protocol):
    """The port that every executor implements; it passes the conformance suite first."""

    @property
    def name(self) -> str:
        """Its name and version, as work orders give it: `command/v1`."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""

    def prepare(self, assignment: Assignment) -> Session:
        """Make a run ready; what this host lacks for it is a SetupError, and nothing has run."""
