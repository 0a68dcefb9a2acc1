"""Keeping a worker's disk: now and then what nobody uses goes, and all of it where room is short.

Rooms next to it say that there is no room; this one makes some, as far as a worker may.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.caches import CacheBounds
from app.domain.errors import FencepostError
from app.events import Moment, emit
from workers.workspace.cache_sweep import sweep_caches
from workers.workspace.sweep import sweep

_PAUSE = 60.0  #: seconds
_TURNS = 10  #: pauses between two sweeps where there is room


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """The folders of one worker's home that it may make room in."""

    checkouts: Path
    caches: Path
    bounds: CacheBounds
    is_short: Callable[[], bool]

    def start(self) -> None:
        """In a thread of its own, which ends with the process."""
        threading.Thread(target=self._work, name="housekeeping", daemon=True).start()

    def tidy(self) -> None:
        """Remove what dead owners left, and caches beyond their bounds."""
        self._sweep(self.bounds)

    def make_room(self) -> None:
        """Remove every cache that nobody uses: each can be fetched again."""
        self._sweep(replace(self.bounds, limit=0))

    def _sweep(self, bounds: CacheBounds) -> None:
        try:
            sweep(self.checkouts, _resists)
            gone = sweep_caches(self.caches, bounds)
        except (OSError, FencepostError) as fault:
            emit(Moment.TROUBLE, code="host_failed", what=f"caches cannot be swept: {fault}")
            return
        for name in gone:
            emit(Moment.CACHE_SWEPT, name=name)

    def _work(self) -> None:
        pause, turn = threading.Event(), 0
        while True:
            if self.is_short():
                self.make_room()
            elif turn % _TURNS == 0:
                self.tidy()
            turn += 1
            pause.wait(_PAUSE)


def _resists(fault: OSError) -> None:
    emit(Moment.TROUBLE, code="host_failed", what=f"a checkout stays: {fault}")
