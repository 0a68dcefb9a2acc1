"""Removing checkouts: one's own, and those that dead owners left (E01)."""

from __future__ import annotations

from pathlib import Path

from workers.workspace.owner import own
from workers.workspace.removal import remove


def sweep(checkouts: Path) -> list[str]:
    """Remove what dead owners left, without touching a living one; the names that are gone.

    Any number of sweepers and owners may work on the same folder at the same time.
    """
    if not checkouts.is_dir():
        return []
    names = {
        entry.name.removesuffix(".lock")
        for entry in checkouts.iterdir()
        if entry.suffix == ".lock" or entry.is_dir()  # a file in there is not one of ours
    }
    return [name for name in sorted(names) if _sweep_one(checkouts / name)]


def _sweep_one(root: Path) -> bool:
    ownership = own(root)
    if ownership is None:
        return False
    try:
        remove(root)
    except OSError:
        return False  # something of its agent is still writing there; the next sweep has it
    finally:
        ownership.release()
    return True
