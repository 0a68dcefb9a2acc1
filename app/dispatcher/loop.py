"""The dispatcher's loops: take turns while there is work, else wait to be woken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from app.domain.errors import FencepostError
from app.events import Moment, emit

Thing = TypeVar("Thing")
Step = Callable[[], int]  #: one turn; how much it did
Wait = Callable[[float, threading.Event], object]  #: until woken, for so many seconds at most


@dataclass(slots=True)
class Turn:
    """A step with its own pace: not more often than this, and later after trouble."""

    name: str
    step: Step
    every: float = 0.0  #: seconds
    due: float = field(default=0.0)
    trouble: int = field(default=0)

    def take(self) -> int:
        """Run the step if it is due; a failure is said, and delays only this step."""
        now = time.monotonic()
        if now < self.due:
            return 0
        try:
            done = self.step()
        except FencepostError as fault:
            self.trouble += 1
            self.due = now + min(0.2 * 2**self.trouble, 5.0)
            if self.trouble in (1, 5) or self.trouble % 50 == 0:
                emit(Moment.TROUBLE, step=self.name, code=fault.code, what=fault.message)
            return 0
        self.trouble = 0
        self.due = now + self.every
        return done


def each(things: Iterable[Thing], step: Callable[[Thing], int | None]) -> int:
    """Take the step with every thing, and return how much was done.

    One that fails does not keep the others waiting; its error leaves when all had their turn.
    """
    done, faults = 0, []
    for thing in things:
        try:
            counted = step(thing)
        except FencepostError as fault:
            faults.append(fault)
        else:
            done += 1 if counted is None else counted
    if faults:
        raise faults[0]
    return done


def run(turns: Sequence[Turn], wait: Wait, stop: threading.Event, sweep: float) -> None:
    """Go round until stopped; the loop holds no state, so it may die at any instant (O06)."""
    while not stop.is_set():
        if not sum(turn.take() for turn in turns):
            wait(sweep, stop)


class Nudge:
    """How one loop of a process wakes another; like every waking, only a hint."""

    def __init__(self) -> None:
        self._given = threading.Event()

    def give(self) -> None:
        """Wake whoever waits, now or next."""
        self._given.set()

    def after(self, step: Step) -> Step:
        """The same step, followed by a nudge when it did something."""

        def take() -> int:
            if done := step():
                self.give()
            return done

        return take

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Return when nudged or when the time is over; it is short, so a stop is soon seen."""
        if not stop.is_set():
            self._given.wait(seconds)
        self._given.clear()


class Beside:
    """Turns in a thread of their own: what they wait for keeps no other turn waiting (Q12)."""

    def __init__(
        self, turns: Sequence[Turn], wait: Wait, stop: threading.Event, sweep: float
    ) -> None:
        self._fault: BaseException | None = None
        self._stop = stop
        self._thread = threading.Thread(
            target=self._go, args=(turns, wait, sweep), name="beside", daemon=True
        )
        self._thread.start()

    def end(self, patience: float) -> None:
        """Wait so long for the thread; a fault that ended it, and so the process, is raised."""
        self._thread.join(patience)
        if self._fault is not None:
            raise self._fault

    def _go(self, turns: Sequence[Turn], wait: Wait, sweep: float) -> None:
        try:
            run(turns, wait, self._stop, sweep)
        except BaseException as fault:  # noqa: BLE001  # raised again where the process ends
            self._fault = fault
        finally:
            self._stop.set()
