"""Ctrl-C as something that is looked at between two steps, never in the middle of one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """How often somebody asked to stop; each time it is answered once."""

    def __init__(self) -> None:
        self._heard = 0
        self._answered = 0

    def raise_if_new(self) -> None:
        """Raise KeyboardInterrupt for a Ctrl-C that was not answered yet."""
        if self._answered < self._heard:
            self._answered += 1
            raise KeyboardInterrupt

    def hear(self, *_: object) -> None:
        """Note one; this is the signals' handler."""
        self._heard += 1


@contextmanager
def collected() -> Iterator[Interrupts]:
    """Collect what asks us to stop: a driver interrupted in a statement breaks its session."""
    interrupts = Interrupts()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, interrupts.hear) for number in numbers]
    try:
        yield interrupts
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
