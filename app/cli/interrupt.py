"""Ctrl-C as something that is looked at between two steps, never in the middle of one."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
    before = on_stop(interrupts.hear)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def on_stop(hear: Callable[..., object]) -> dict[signal.Signals, Any]:
    """Hear Ctrl-C, SIGTERM, and the end of the terminal; the handlers that were there before.

    Who started us with `nohup` has SIGHUP ignored, and it stays so.
    """

    def hang_up(number: int, frame: object) -> None:
        _write_to_nobody()
        hear(number, frame)

    wanted = {signal.SIGINT: hear, signal.SIGTERM: hear, signal.SIGHUP: hang_up}
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        del wanted[signal.SIGHUP]
    return {number: signal.signal(number, handler) for number, handler in wanted.items()}


def _write_to_nobody() -> None:
    """A terminal that is gone fails every write; a file or a pipe still has its reader."""
    nobody = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if _is_gone(stream.fileno()):
            os.dup2(nobody, stream.fileno())
    os.close(nobody)


def _is_gone(descriptor: int) -> bool:
    try:
        os.write(descriptor, b"")
        return stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor)
    except OSError:
        return True
