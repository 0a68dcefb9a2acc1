"""The journal of one claim: what happens while it runs, in order, bounded, in batches."""

from __future__ import annotations

import threading
import time

from app.domain.digest import Json, canonical, text
from app.domain.errors import FencepostError, Refused
from app.domain.identity import Claim
from app.store.engine import Store
from app.transitions.journal import journal
from workers.workspace.output import shown

_EVERY = 0.3  #: seconds between two batches of output
_MOST_OUTPUT = 1024 * 1024  #: bytes of output that become events; the rest is only counted


class Journal:
    """Collects events and writes them under the claim; a lost claim writes nothing more."""

    def __init__(self, store: Store, claim: Claim) -> None:
        self._store, self._claim = store, claim
        self._entries: list[tuple[str, bytes]] = []
        self._next = 1
        self._written_at = 0.0
        self._output = 0
        self._refused = False
        self._lock = threading.Lock()

    def tell(self, kind: str, **value: Json) -> None:
        """Write an event now, with everything that was collected before it."""
        with self._lock:
            self._entries.append((kind, canonical(value)))
            self._write()

    def output(self, chunk: bytes) -> None:
        """Collect some output; it is written with the next batch."""
        with self._lock:
            if self._output < _MOST_OUTPUT:
                words = shown(chunk, limit=len(chunk) + 1024)
                self._entries.append(("output", canonical({"text": text(words)})))
            self._output += len(chunk)
            if time.monotonic() - self._written_at > _EVERY:
                self._write()

    def close(self) -> None:
        """Write what is left."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        if not self._entries or self._refused:
            return
        batch, self._entries = self._entries, []
        self._written_at = time.monotonic()
        try:
            journal(self._store, self._claim, self._next, batch)
        except Refused:
            self._refused = True  # the fence has moved on; the run will hear of it from the keeper
        except FencepostError:
            self._entries = batch + self._entries  # the run goes on; the next batch brings it
            return
        self._next += len(batch)
