"""The journal of one claim: what happens while it runs, in order, bounded, in batches.

Whatever a run tells while it runs goes through here, and leaves its secrets here (E09).
"""

from __future__ import annotations

import threading
import time

from app import secrecy
from app.domain.digest import Json, canonical, digest, text
from app.domain.errors import ArtifactLimit, FencepostError, Refused
from app.domain.event import Entry, EventType
from app.domain.identity import Claim
from app.store.engine import Store
from app.transitions.journal import journal
from app.transitions.keep import keep
from workers.workspace.output import shown

_EVERY = 0.3  #: seconds between two batches of output
_MOST_OUTPUT = 1024 * 1024  #: bytes of output that become events; the rest is only counted
_MOST_AT_ONCE = 64 * 1024  #: bytes of output in one event


class Journal:
    """Collects events and writes them under the claim; a lost claim writes nothing more."""

    def __init__(self, store: Store, claim: Claim) -> None:
        self._store, self._claim = store, claim
        self._entries: list[Entry] = []
        self._words: list[bytes] = []
        self._clean = secrecy.stream()
        self._next = 1
        self._written_at = 0.0
        self._output = 0
        self._refused = False
        self._lock = threading.Lock()

    def tell(self, kind: EventType, **value: Json) -> None:
        """Write an event now, with everything that was collected before it."""
        with self._lock:
            self._gather()
            self._entries.append(Entry(kind, canonical(secrecy.redacted_value(value))))
            self._write()

    def output(self, chunk: bytes) -> None:
        """Collect some output; it is written with the next batch, once its line is complete."""
        with self._lock:
            if self._output < _MOST_OUTPUT:
                self._words.append(self._clean.take(chunk))
            self._output += len(chunk)
            if sum(map(len, self._words)) >= _MOST_AT_ONCE:
                self._gather()
            if time.monotonic() - self._written_at > _EVERY:
                self._write()

    def keep(self, name: str, media_type: str, data: bytes, **more: Json) -> None:
        """Keep a text and say so. A run never fails for one that cannot be kept."""
        data = secrecy.redacted_bytes(data)
        facts: dict[str, Json] = {
            "name": name, "media_type": media_type, "size": len(data), "digest": digest(data),
            **more,
        }  # fmt: skip
        try:
            keep(self._store, self._claim, name, media_type, data)
        except ArtifactLimit as fault:
            facts["refused"] = fault.code
        except FencepostError:
            return  # of a lost fence the run will hear from the keeper
        self.tell(EventType.ARTIFACT, **facts)

    def end_output(self) -> None:
        """Take it that a process has ended: its last line, if it did not end, is all of it.

        Of output that was cut off the last line is left out, for it may be half a secret.
        """
        with self._lock:
            if self._output < _MOST_OUTPUT:
                self._words.append(self._clean.end())
            self._clean = secrecy.stream()

    def close(self) -> None:
        """Write what is left."""
        self.end_output()
        with self._lock:
            self._write()

    def _gather(self) -> None:
        """One event of many chunks: each event is counted on a row that others wait for."""
        chunk = b"".join(self._words)
        self._words.clear()
        for start in range(0, len(chunk), _MOST_AT_ONCE):
            part = chunk[start : start + _MOST_AT_ONCE]
            words = text(shown(part, limit=len(part) + 1024))
            self._entries.append(Entry(EventType.OUTPUT, canonical({"text": words})))

    def _write(self) -> None:
        self._gather()
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
