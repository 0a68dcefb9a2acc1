"""Pipes, sockets and devices that a run left behind: whoever opens one may wait for ever (E03)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def remove_specials(tree: Path) -> set[str]:
    """Remove what is neither file, folder nor link; the paths, as git would name them.

    git reads `.gitignore` and a nested repository's own files without asking what they are.
    """
    root = os.fsencode(tree)
    removed = set()
    folders = [root]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_symlink() and not entry.is_file():
                    os.unlink(entry.path)
                    path = os.path.relpath(entry.path, root)
                    removed.add(path.decode("utf-8", "surrogateescape"))
    return removed
