"""Free disk: how much a worker needs before it begins anything, and how much there is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

#: Bytes. With less no checkout, commit or output can be trusted to fit.
LEAST = 100 << 20

_SIZE = re.compile(r"([0-9]{1,12})([KMGT]?)")
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}  #: powers of two


@dataclass(frozen=True, slots=True)
class Room:
    """What a disk has to spare."""

    folder: str
    free: int  #: bytes
    least: int  #: bytes that must be free

    @property
    def is_enough(self) -> bool:
        """Whether work may begin here."""
        return self.free >= self.least

    def __str__(self) -> str:
        return f"{shown(self.free)} free in {self.folder}, and {shown(self.least)} must be"


def room(home: Path, least: int = LEAST) -> Room:
    """How much is free where a worker writes; the folder that has least, if they lie apart."""
    folders = (home, *(home / name for name in ("checkouts", "forge", "cache")))
    found = {one: _free(one) for one in map(_nearest, folders)}
    folder = min(found, key=lambda one: found[one])
    return Room(str(folder), found[folder], least)


def size(written: str) -> int | None:
    """Bytes, from `500M` or `2G`; None for what is no size."""
    found = _SIZE.fullmatch(written)
    return None if found is None else int(found[1]) << _UNITS[found[2]]


def _free(folder: Path) -> int:
    """Bytes that a process without privileges may use."""
    seen = os.statvfs(folder)
    return seen.f_bavail * seen.f_frsize


def _nearest(folder: Path) -> Path:
    """The folder, or where it will be made."""
    return next(one for one in (folder, *folder.parents) if os.path.exists(one))


def shown(size: int) -> str:
    """A number of bytes for people."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
