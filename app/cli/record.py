"""What each parent notes of itself and its roles, so that others find it and sweep after it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from app.embedded import folder, process
from app.embedded.process import Process


class ParentKind(StrEnum):
    """Which command is the parent; only an `up` is there for others."""

    UP = "up"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Child:
    """One role's process."""

    pid: int
    started: int
    since: float  #: seconds since the epoch, by this machine's clock

    @property
    def process(self) -> Process:
        """The very process, not a later one of the same pid."""
        return Process(self.pid, self.started)


@dataclass(frozen=True, slots=True)
class Record:
    """A parent, alive or not, and what it started last. No URL and no password is in it."""

    pid: int
    started: int
    kind: ParentKind
    since: float
    embedded: bool  #: it uses the embedded servers; else its logins are in their own file
    is_ready: bool = False
    roles: Mapping[str, Child] = field(default_factory=dict)

    @property
    def process(self) -> Process:
        """The parent's process."""
        return Process(self.pid, self.started)


def write(home: Path, record: Record) -> None:
    """Put a record in place of the parent's earlier one."""
    folder.write(_file(home, record.pid), json.dumps(asdict(record)) + "\n")


def remove(home: Path, record: Record) -> None:
    """Forget a parent."""
    _file(home, record.pid).unlink(missing_ok=True)


def read_all(home: Path) -> list[Record]:
    """Every record of a home; one that cannot be read counts as none."""
    found = (_read(file) for file in sorted((home / "stacks").glob("*.json")))
    return [record for record in found if record is not None]


def find_up(home: Path) -> Record | None:
    """The `up` of this home, if one runs and is ready."""
    for record in read_all(home):
        if record.kind is ParentKind.UP and record.is_ready and process.is_alive(record.process):
            return record
    return None


def sweep(home: Path) -> int:
    """End the roles whose parent died without ending them, and forget it; how many there were."""
    ended = 0
    for record in read_all(home):
        if process.is_alive(record.process):
            continue
        for child in record.roles.values():
            if process.is_alive(child.process):
                process.end(child.process, (signal.SIGTERM, 2), (signal.SIGTERM, 5))
                ended += 1
        remove(home, record)
    return ended


def myself(kind: ParentKind, since: float, *, embedded: bool) -> Record:
    """The record of this process, without any role yet."""
    pid = os.getpid()
    return Record(pid, process.started_at(pid) or 0, kind, since, embedded)


def _file(home: Path, pid: int) -> Path:
    return home / "stacks" / f"{pid}.json"


def _read(file: Path) -> Record | None:
    try:
        value = json.loads(file.read_text("utf-8"))
        roles = {name: Child(**child) for name, child in value.pop("roles").items()}
        return Record(**{**value, "kind": ParentKind(value["kind"]), "roles": roles})
    except (OSError, ValueError, TypeError, KeyError):
        return None
