"""A run that is one process under its supervisor: what every executor of this host shares."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from app.domain.event import EventType
from workers.executors.base import Happening, Noted, Outcome, Problem, Spawned
from workers.workspace.process import Command, Ended, run

#: How the supervisor says that a run ended other than by itself → the failure's code.
CAUSES = {
    "not_found": "command_not_found",
    "not_executable": "command_not_executable",
    "deadline": "deadline_exceeded",
    "stalled": "stalled",
    "not_isolated": "isolation_unavailable",
}


_MOST_NOTES = 5_000  #: events that one run may add to its attempt


class Reader(Protocol):
    """Makes happenings of a program's output, and a judgement of how it ended."""

    def hear(self, chunk: bytes) -> Iterable[Happening]:
        """Take the next bytes."""

    @property
    def overhear(self) -> Callable[[bytes], Iterable[Happening]] | None:
        """Take the next bytes of stderr; None hears both streams as one, in their order."""

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
        told = 0

        def tell(happenings: Iterable[Happening]) -> None:
            nonlocal told
            for one in happenings:
                told += isinstance(one, Noted)
                if told <= _MOST_NOTES or not isinstance(one, Noted):
                    on_event(one)

        overhear = self.reader.overhear
        ended = run(
            self.command,
            on_output=lambda chunk: tell(self.reader.hear(chunk)),
            on_error=overhear and (lambda chunk: tell(overhear(chunk))),
            on_start=lambda pid: on_event(Spawned(pid)),
            stop=stop,
            marker=self.marker,
        )
        tell(self.reader.close())
        if told > _MOST_NOTES:
            words = f"{told - _MOST_NOTES} events more than {_MOST_NOTES} are left out"
            on_event(Noted(EventType.STEP, {"step": "warning", "text": words}))
        return ended

    def collect(self, ended: Ended) -> Outcome:
        """Judge by the cause that ended it first: a last word that came in time saves nothing."""
        outcome = self.reader.judge(ended)
        if ended.cause == "exited":
            return outcome
        code = CAUSES.get(ended.cause, "command_failed")
        how = code.replace("_", " ") if ended.cause in CAUSES else ended.cause
        why = f": {ended.why}" if ended.why else ""
        return Outcome(Problem(code, f"{' '.join(self.shown[:1])}: {how}{why}"), outcome.usage)
