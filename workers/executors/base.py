"""What an executor is: something that works on a checkout and says how it ended (E07, T10)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeAlias

from workers.workspace.process import Ended


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an executor can do; one without `resume` is never resumed (T10)."""

    cancel: bool
    resume: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """One run: what to do, where, with what, and for how long."""

    argv: tuple[str, ...]  #: the program and its arguments
    tree: Path  #: the working directory
    environment: Mapping[str, str]  #: all of it
    marker: Mapping[str, str]  #: by which every process of the run is found
    deadline: timedelta
    stall: timedelta | None


@dataclass(frozen=True, slots=True)
class Spawned:
    """The agent's process has started."""

    pid: int


@dataclass(frozen=True, slots=True)
class Wrote:
    """The agent wrote something, on either stream."""

    chunk: bytes


Happening: TypeAlias = Spawned | Wrote


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and whether the executor takes it for done."""

    ended: Ended
    is_done: bool


class Executor(Protocol):
    """The port that every executor implements; it passes the conformance suite first."""

    @property
    def name(self) -> str:
        """Its name and version, as work orders give it: `command/v1`."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""

    def run(
        self,
        assignment: Assignment,
        *,
        on_event: Callable[[Happening], None],
        stop: threading.Event,
    ) -> Outcome:
        """Work until done, stopped or out of time; nothing of the run is left when it returns."""
