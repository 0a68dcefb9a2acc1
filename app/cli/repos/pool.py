"""A few threads for what waits for other machines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

About = TypeVar("About")
Result = TypeVar("Result")


class Pool(Generic[About, Result]):
    """Does what it is given, so much at once; what comes of it is taken back by one thread.

    The threads do not outlive the process, and nobody waits for them at its end.
    """

    def __init__(self, work: Callable[[About], Result], size: int) -> None:
        self._work = work
        self._asked: SimpleQueue[About] = SimpleQueue()
        self._done: SimpleQueue[tuple[About, Result | Exception]] = SimpleQueue()
        self.size = size
        self.pending = 0  #: given, and not yet taken back
        for _ in range(size):
            threading.Thread(target=self._keep_working, daemon=True).start()

    def give(self, about: About) -> None:
        """Let a thread do this as soon as one is free."""
        self.pending += 1
        self._asked.put(about)

    def take(self, patience: float = 0.0) -> Iterator[tuple[About, Result | Exception]]:
        """What has ended, with what came of it; waits so long for the first."""
        while True:
            try:
                ended = self._done.get(timeout=patience) if patience else self._done.get_nowait()
            except Empty:
                return
            self.pending -= 1
            patience = 0.0
            yield ended

    def _keep_working(self) -> None:
        while True:
            about = self._asked.get()
            try:
                self._done.put((about, self._work(about)))
            except Exception as fault:  # noqa: BLE001  # it belongs to whoever takes it back
                self._done.put((about, fault))
