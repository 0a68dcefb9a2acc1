"""Making a tree that a run left fit to be read: nothing closed, and nothing to wait on (E03)."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

_SHOWN = 200  #: signs of a path that is longer than any


@dataclass(slots=True)
class Made:
    """What was found on the way, by the paths that git would name."""

    removed: set[str] = field(default_factory=set)  #: pipes, sockets, devices
    too_deep: list[str] = field(default_factory=list)  #: folders that no path reaches


def make_readable(tree: Path) -> Made:
    """Open what the run closed to its worker, and remove what is no file, folder or link.

    git reads `.gitignore` and a nested
    repository's own files without asking what they are, and a pipe keeps it waiting for ever. It
    knows no modes but the executable bit.
    """
    root = os.fsencode(tree)
    made = Made()
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            folders += _make_folder_readable(root, folder, made)
        except OSError as fault:
            if fault.errno == errno.ENAMETOOLONG:
                made.too_deep.append(_named(root, folder)[:_SHOWN])
    return made


def _make_folder_readable(root: bytes, folder: bytes, made: Made) -> list[bytes]:
    """The folders in it."""
    _open(folder, stat.S_IRWXU)
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                _open(entry.path, stat.S_IRUSR)
            elif not entry.is_symlink():
                os.unlink(entry.path)
                made.removed.add(_named(root, entry.path))
    return found


def _named(root: bytes, place: bytes) -> str:
    return os.path.relpath(place, root).decode("utf-8", "surrogateescape")


def _open(place: bytes, wanted: int) -> None:
    mode = os.lstat(place).st_mode
    if mode & wanted != wanted:
        os.chmod(place, stat.S_IMODE(mode) | wanted)
