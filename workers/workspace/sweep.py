"""Removing checkouts: one's own, and those that dead owners left (E01)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from workers.workspace.owner import own


def sweep(checkouts: Path) -> list[str]:
    """Remove what dead owners left, without touching a living one; the names that are gone.

    Any number of sweepers and owners may work on the same folder at the same time.
    """
    if not checkouts.is_dir():
        return []
    names = {entry.name.removesuffix(".lock") for entry in checkouts.iterdir()}
    return [name for name in sorted(names) if _sweep_one(checkouts / name)]


def remove(root: Path) -> None:
    """Remove a folder, also when something in it was made unreadable; links are not followed."""
    for attempt in (1, 2, 3):
        shutil.rmtree(root, ignore_errors=True)
        if not os.path.lexists(root):
            return
        if attempt == 1:
            _open_up(root)
    raise OSError(f"cannot remove {root}")


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


def _open_up(root: Path) -> None:
    os.chmod(root, 0o700)
    for folder, _, _ in os.walk(root):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
