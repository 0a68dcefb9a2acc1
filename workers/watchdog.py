"""The watchdog: a worker that no longer reads its queues ends, so that its parent starts another.

Whoever lost a connection in silence, or was told from outside to read no more, looks alive to all
the world. Messages that wait, slots that are free and nothing read for long tell the truth (Q14).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from app.domain.errors import RedisUnreachable
from app.events import Moment, emit
from workers.occupancy import Occupancy

LOOK = 1.0  #: seconds between two looks
PATIENCE = 60  #: looks; a worker that lost Redis may take half a minute to come back
_LAST = 10.0  #: seconds for an orderly end once nothing runs
EXIT = 1


class Watchdog:
    """Looks at one process from inside; it judges by looks, so a frozen host is not a stall."""

    def __init__(
        self, queues: Sequence[str], waiting: Callable[[str], int], read: Mapping[str, int],
        occupancy: Occupancy, patience: int = PATIENCE,
    ) -> None:  # fmt: skip
        self._queues, self._waiting, self._read = queues, waiting, read
        self._occupancy, self._patience = occupancy, patience
        self._last = dict(read)
        self._in_vain: Counter[str] = Counter()
        self._is_off = threading.Event()
        self.has_bitten = False

    def start(self) -> None:
        """Look from now on."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def rest(self) -> None:
        """This process ends by itself: that it reads nothing is meant."""
        self._is_off.set()

    def stalled(self) -> str | None:
        """Look once; the queue that has waited in vain for too long, if there is one."""
        for queue in self._queues:
            try:
                is_ignored = self._occupancy.free > 0 and self._waiting(queue) > 0
            except RedisUnreachable:
                self._in_vain.clear()
                return None
            now = self._read.get(queue, 0)
            has_read, self._last[queue] = now != self._last.get(queue, 0), now
            self._in_vain[queue] = self._in_vain[queue] + 1 if is_ignored and not has_read else 0
            if self._in_vain[queue] >= self._patience:
                return queue
        return None

    def _watch(self) -> None:
        while (queue := self.stalled()) is None:
            if self._is_off.wait(LOOK):
                return
        self.has_bitten = True
        emit(Moment.STALLED, queue=queue, free=self._occupancy.free)
        os.kill(os.getpid(), signal.SIGTERM)  # what runs is finished first
        nothing = threading.Event()
        while self._occupancy.busy:
            nothing.wait(LOOK)
        nothing.wait(_LAST)
        sys.stderr.flush()
        os._exit(EXIT)  # whoever could end in order has done so
