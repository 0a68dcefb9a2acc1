"""Asking something slow on behalf of a scrape: seldom, and never for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from app.domain.errors import FencepostError

Answer = TypeVar("Answer")

#: Seconds that an answer is good for; and as many times as long as it took to get.
FRESH = 5.0
SHARE = 20
#: Seconds that a scrape waits for an answer.
PATIENCE = 2.0


class Source(Generic[Answer]):
    """A question whose answer is kept for a while; it is asked once, whoever waits for it.

    However long an answer takes, a scrape waits no longer than its patience, and no more than a
    twentieth of the time is spent on asking.
    """

    def __init__(
        self, ask: Callable[[], Answer], *, fresh: float = FRESH, patience: float = PATIENCE
    ) -> None:
        self._question, self._fresh, self._patience = ask, fresh, patience
        self._lock = threading.Lock()
        self._asking: threading.Event | None = None
        self._answer: Answer | None = None
        self._due = 0.0

    def value(self) -> Answer | None:
        """The answer; None where there is none, or none in time."""
        with self._lock:
            if self._asking is None and time.monotonic() >= self._due:
                self._asking = threading.Event()
                args = [self._asking]
                threading.Thread(target=self._ask, args=args, name="metrics", daemon=True).start()
            asking = self._asking
        if asking is not None and not asking.wait(self._patience):
            return None
        with self._lock:
            return self._answer

    def _ask(self, done: threading.Event) -> None:
        began, answer = time.monotonic(), None
        pause = FRESH
        try:
            answer = self._question()
            pause = max(self._fresh, SHARE * (time.monotonic() - began))
        except FencepostError:
            pass  # no answer is an answer: the scrape says that this source is down
        finally:
            with self._lock:
                self._answer, self._asking = answer, None
                self._due = time.monotonic() + pause
            done.set()
