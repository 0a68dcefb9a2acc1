"""A run that is one process under its supervisor: what every executor of this host shares."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from workers.executors.base import Happening, Noted, Outcome, Problem, Spawned
from workers.workspace.process import Command, Ended, run

#: How the supervisor says that a run ended other than by itself → the failure's code.
CAUSES = {
    "not_found": "command_not_found",
    "not_executable": "command_not_executable",
    "deadline": "deadline_exceeded",
    "stalled": "stalled",
}


class Reader(Protocol):
    """Makes happenings of a program's output, and a judgement of how it ended."""

    def hear(self, chunk: bytes) -> Iterable[Happening]:
        """Take the next bytes."""

    def close(self) -> Iterable[Happening]:
        """Take the end."""

    def judge(self, ended: Ended) -> Outcome:
        """Say how it went, of a program that ended by itself."""


@dataclass(frozen=True, slots=True)
class ProcessSession:
    """One process, and who reads it."""

    shown: tuple[str, ...]
    command: Command
    marker: Mapping[str, str]
    reader: Reader
    before: tuple[Noted, ...] = ()  #: what is to be said first

    def run(self, *, on_event: Callable[[Happening], None], stop: threading.Event) -> Ended:
        """Run the program; its start and what it writes are events as they happen."""
        for note in self.before:
            on_event(note)

        def heard(chunk: bytes) -> None:
            for one in self.reader.hear(chunk):
                on_event(one)

        ended = run(
            self.command, on_output=heard, on_start=lambda pid: on_event(Spawned(pid)), stop=stop,
            marker=self.marker,
        )  # fmt: skip
        for one in self.reader.close():
            on_event(one)
        return ended

    def collect(self, ended: Ended) -> Outcome:
        """Judge by the cause that ended it first: a last word that came in time saves nothing."""
        outcome = self.reader.judge(ended)
        if ended.cause == "exited":
            return outcome
        code = CAUSES.get(ended.cause, "command_failed")
        how = code.replace("_", " ") if ended.cause in CAUSES else ended.cause
        return Outcome(Problem(code, f"{' '.join(self.shown[:1])}: {how}"), outcome.usage)
