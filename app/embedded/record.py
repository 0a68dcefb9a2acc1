"""What one start notes of a server, so that the next adopts it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from app.embedded import folder, process
from app.embedded.account import Account
from app.embedded.process import Process

NOBODY = Process(0, 0)  #: stands in a record from before the launch until after it


@dataclass(frozen=True, slots=True)
class Record:
    """A server, alive or not."""

    pid: int
    started: int
    address: str  #: the folder of its socket, or its port

    @property
    def process(self) -> Process:
        """The process that was noted."""
        return Process(self.pid, self.started)


def remember(file: Path, server: Process, address: str) -> Record:
    """Note a server."""
    record = Record(server.pid, server.started, address)
    folder.write(file, json.dumps(asdict(record)) + "\n")
    return record


def recall(file: Path) -> Record | None:
    """The server that was noted last."""
    try:
        return Record(**json.loads(file.read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def adopt(file: Path, user: Account | None, *arguments: str | Path) -> Record | None:
    """The server that runs with these arguments, if one was noted.

    The arguments count, not the pid: a start may have died before it noted that, and the note of
    a copied home speaks of the original's server.
    """
    record = recall(file)
    running = process.find(user, *arguments)
    if record is None or not running:
        return None
    return Record(running[0].pid, running[0].started, record.address)
