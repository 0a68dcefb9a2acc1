"""The dispatcher's one loop: take turns while there is work, else wait to be woken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from app.domain.errors import FencepostError
from app.events import Moment, emit
from app.store.listening import Listener

Thing = TypeVar("Thing")
Step = Callable[[], int]  #: one turn; how much it did


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


def run(turns: Sequence[Turn], listener: Listener, stop: threading.Event, sweep: float) -> None:
    """Go round until stopped; the loop holds no state, so it may die at any instant (O06)."""
    while not stop.is_set():
        if not sum(turn.take() for turn in turns):
            listener.wait(sweep, stop)
