"""What an agent says on stderr: words for people, the last of which tell why it failed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from app import secrecy
from workers.executors.base import Wrote
from workers.executors.bounded import words
from workers.executors.lines import Lines

_LAST = 3  #: lines that a failure tells of
_LONGEST = 250  #: signs of each


class Complaints:
    """Takes words of any form in bounded memory; whatever stands on stderr is no event."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._clean = secrecy.stream()
        self._last: deque[str] = deque(maxlen=_LAST)

    def hear(self, chunk: bytes) -> Iterator[Wrote]:
        """Take the next bytes."""
        for line in self._lines.take(chunk):
            yield self.note(line)

    def close(self) -> Iterator[Wrote]:
        """Take the end."""
        for line in self._lines.end():
            yield self.note(line)

    def note(self, line: bytes) -> Wrote:
        """Take a line that is for people, from whichever stream; what is kept has no secret."""
        line = self._clean.take(line)
        if said := words(line.decode("utf-8", "replace"), _LONGEST).strip():
            self._last.append(said)
        return Wrote(line)

    @property
    def last(self) -> str:
        """The last words, on one line."""
        return " | ".join(self._last)
