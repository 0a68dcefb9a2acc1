"""Removing checkouts: one's own, and those that dead owners left (E01)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from workers.workspace.owner import own
from workers.workspace.removal import remove


def sweep(checkouts: Path, on_trouble: Callable[[OSError], None] | None = None) -> list[str]:
    """Remove what dead owners left, without touching a living one; the names that are gone.

    Any number of sweepers and owners may work on the same folder at the same time. What resists
    is left where it is: the next sweep has it, if something of its run was still writing there.
    """
    if not checkouts.is_dir():
        return []
    names = {
        entry.name.removesuffix(".lock")
        for entry in checkouts.iterdir()
        if entry.suffix == ".lock" or entry.is_dir()  # a file in there is not one of ours
    }
    gone = []
    for name in sorted(names):
        try:
            if _is_swept(checkouts / name):
                gone.append(name)
        except OSError as fault:
            if on_trouble is not None:
                on_trouble(fault)
    return gone


def _is_swept(root: Path) -> bool:
    ownership = own(root)
    if ownership is None:
        return False
    try:
        remove(root)
    finally:
        ownership.release()
    return True
