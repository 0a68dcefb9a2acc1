"""What roles write to their logs, read as it is added."""

from __future__ import annotations

from pathlib import Path

from app.cli.shown import plain


class Tail:
    """One role's log from now on, line by line, each with the role's name before it."""

    def __init__(self, home: Path, name: str) -> None:
        self.name = name
        self._file = home / "logs" / f"{name}.log"
        self._place = self._size()
        self._rest = b""

    def lines(self) -> list[str]:
        """The whole lines that were added since the last look, unable to steer the terminal."""
        if self._size() < self._place:
            self._place = 0  # the log made way for a new one
        if not self._file.exists():
            return []
        with self._file.open("rb") as log:
            log.seek(self._place)
            added = log.read()
        self._place += len(added)
        *lines, self._rest = (self._rest + added).split(b"\n")
        return [plain(line.decode("utf-8", "replace")) for line in lines]

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except FileNotFoundError:
            return 0
