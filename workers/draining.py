"""How a worker ends when it is told to (Q06).

Told once, it begins nothing new, and what runs has a grace to end by itself; told twice, or after
the grace, what runs is ended and handed back, so that another worker begins it at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from datetime import timedelta
from queue import Empty, SimpleQueue

from app.events import Moment, emit
from workers.keeper import Keeper

#: Handing back takes up to three seconds more: under the ten that `docker stop` waits.
GRACE = timedelta(seconds=6)


class Drain:
    """Hears how often this process is told to end, and does what that means."""

    def __init__(
        self, keeper: Keeper, grace: timedelta, is_patient: Callable[[], bool] = lambda: False
    ) -> None:
        self._keeper, self._grace, self._is_patient = keeper, grace, is_patient
        self._words: SimpleQueue[None] = SimpleQueue()  # a signal's handler may put at any instant
        threading.Thread(target=self._watch, name="drain", daemon=True).start()

    def hear(self, **_: object) -> None:
        """One more word to end; the handlers of signals call this."""
        self._keeper.drain()
        self._words.put(None)

    def _watch(self) -> None:
        self._words.get()
        # a worker that ends for a trouble of its own finishes what runs
        grace = None if self._is_patient() else self._grace.total_seconds()
        emit(Moment.DRAINING, grace="none" if grace is None else f"{grace:g}")
        with contextlib.suppress(Empty):
            self._words.get(timeout=grace)
        self._keeper.hand_back()
