"""Keeping caches within their bounds: what was not used for longest goes first, whole (E01)."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from app.caches import CacheBounds
from workers.workspace.cache import lock_of, use_of
from workers.workspace.locking import if_free
from workers.workspace.removal import remove


@dataclass(frozen=True, slots=True)
class _Found:
    git_dir: Path
    used: float  #: seconds since the epoch, when somebody last began to
    size: int  #: bytes of the disk


def sweep_caches(folder: Path, bounds: CacheBounds) -> list[str]:
    """Remove caches that are too old, or too much; the names of those that are gone.

    One that is borrowed from, or written, stays. Any number may sweep at the same time.
    """
    if not folder.is_dir():
        return []
    for left in folder.glob(".*"):  # by who died while it removed, or made, one
        with contextlib.suppress(OSError):
            remove(left)
    found = sorted(map(_look, folder.glob("*.git")), key=lambda one: one.used)
    total = sum(one.size for one in found)
    oldest = time.time() - bounds.age.total_seconds()
    gone = []
    for one in found:
        if (total > bounds.limit or one.used < oldest) and _remove(one.git_dir):
            total -= one.size
            gone.append(one.git_dir.stem)
    return gone


def _remove(git_dir: Path) -> bool:
    with if_free(lock_of(git_dir)) as writing, if_free(use_of(git_dir)) as borrowing:
        if writing is None or borrowing is None:
            return False
        going = git_dir.with_name(f".{secrets.token_hex(8)}")
        try:
            git_dir.rename(going)
        except FileNotFoundError:
            return False  # another sweep was first
        use_of(git_dir).unlink(missing_ok=True)
        lock_of(git_dir).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        remove(going)
    return True


def _look(git_dir: Path) -> _Found:
    size = 0
    for folder, _, names in os.walk(git_dir):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(folder, name)).st_blocks * 512
    for file in (use_of(git_dir), git_dir):
        with contextlib.suppress(OSError):
            return _Found(git_dir, file.stat().st_mtime, size)
    return _Found(git_dir, time.time(), size)
