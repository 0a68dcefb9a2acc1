"""Room on this worker's disk: without it nothing is begun, and what fails for that costs nothing.

A message that is not read waits in Redis, for this worker or another; it needs no claim and no
start (Q09).
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app import disk
from app.disk import Room
from app.domain.errors import DiskFull, ProviderError
from app.events import Moment, emit

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Disk:
    """The disk of a worker's home, and whether it has said that there is too little of it."""

    def __init__(self, home: Path, least: int = disk.LEAST) -> None:
        self._home, self._least = home, least
        self._is_short = False
        self._lock = threading.Lock()

    def is_short(self) -> bool:
        """Look; what has changed since the last look is said."""
        return not self._look().is_enough

    def check(self, meanwhile: str = "") -> None:
        """DiskFull unless there is room; `meanwhile`: what went wrong without it."""
        found = self._look()
        if not found.is_enough:
            raise DiskFull(f"{found}; {meanwhile}" if meanwhile else str(found))

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Whatever fails inside while there is no room fails as DiskFull."""
        try:
            yield
        except DiskFull:
            raise
        except (ProviderError, OSError) as fault:
            self.check(str(fault))
            if isinstance(fault, OSError) and fault.errno in _NO_ROOM:
                raise DiskFull(str(fault)) from fault  # a quota, or it has come back
            raise

    def _look(self) -> Room:
        with self._lock:
            # a little more before it is enough again, or it would be said every second
            wanted = self._least + self._least // 10 if self._is_short else self._least
            found = disk.room(self._home, wanted)
            if self._is_short == found.is_enough:
                self._is_short = not found.is_enough
                self._say(found)
            return found

    def _say(self, found: Room) -> None:
        moment = Moment.ROOM_AGAIN if found.is_enough else Moment.NO_ROOM
        emit(moment, free=found.free, least=self._least, folder=found.folder)
