"""How fast a list comes to its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta

from app.cli.repos.entry import Entry

_SPAN = timedelta(seconds=15)  #: over which it is measured


class Rate:
    """How many come to an end in a minute, by the database's clock, over the last seconds."""

    def __init__(self) -> None:
        self._ends: deque[datetime] = deque()
        self._counted: set[int] = set()
        self._began: datetime | None = None  #: when something was first seen to run
        self._now: datetime | None = None

    def look(self, entries: Sequence[Entry]) -> None:
        """Count what this run has seen to its end since the last look."""
        now = max((entry.seen_at for entry in entries if entry.seen_at), default=None)
        if now is None:
            return
        if self._began is None and any(entry.worker for entry in entries):
            self._began = now
        self._now = now
        self._count(entries)
        while self._ends and self._ends[0] < now - _SPAN:
            self._ends.popleft()

    @property
    def a_minute(self) -> float:
        """Ends a minute."""
        if self._now is None or self._began is None:
            return 0.0
        span = min(_SPAN, self._now - self._began)
        return len(self._ends) / max(1.0, span.total_seconds()) * 60

    def _count(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.ended_at and not entry.before and entry.line not in self._counted:
                self._counted.add(entry.line)
                self._ends.append(entry.ended_at)
        self._ends = deque(sorted(self._ends))
