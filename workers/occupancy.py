"""How many slots of a worker process are at work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Occupancy:
    """Counts from the moment that a slot takes a message; a claim comes later."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._busy = 0
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """One slot is at work while the inside runs."""
        with self._lock:
            self._busy += 1
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1

    @property
    def busy(self) -> int:
        """Slots at work."""
        return self._busy

    @property
    def free(self) -> int:
        """Slots that wait for work."""
        return self.slots - self._busy
