"""Removing a folder, whatever its owner made of it: closed, very deep, full of links (E01)."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(root: Path) -> None:
    """Remove a folder or a file; links are not followed. OSError when something of it resists.

    What lies deeper is moved up first. So neither the depth nor the length of a path matters, and
    nothing calls itself.
    """
    with contextlib.suppress(OSError):
        os.unlink(root)  # a file, or a link
    if not os.path.lexists(root):
        return
    os.chmod(root, stat.S_IRWXU)
    top = os.open(root, _FOLDER)
    try:
        while names := os.listdir(top):
            # the list of what has to be done is the folder itself
            if not [name for name in names if _has_changed(top, name)]:
                break
    finally:
        os.close(top)
    with contextlib.suppress(OSError):
        os.rmdir(root)
    if os.path.lexists(root):
        raise OSError(f"cannot remove {root}: {_resisting(os.fsencode(root))}")


def _resisting(place: bytes) -> str:
    """The first thing that is still there, and why; what could be moved up lies near the top."""
    while True:
        try:
            inner = sorted(os.listdir(place))
            if not inner:
                os.rmdir(place)
                return "it was written to meanwhile"
        except NotADirectoryError:
            break
        except OSError as fault:
            return f"{os.fsdecode(place)}: {fault.strerror}"
        place = os.path.join(place, inner[0])
    try:
        os.unlink(place)
    except OSError as fault:
        return f"{os.fsdecode(place)}: {fault.strerror}"
    return "it was written to meanwhile"


def _has_changed(top: int, name: str) -> bool:
    """Take an entry away, or its own folders one up; whether anything could be done."""
    if _is_unlinked(top, name):
        return True
    try:
        folder = _opened(top, name)
    except OSError:
        return False
    has_changed = False
    try:
        for inner in os.listdir(folder):
            has_changed |= _is_unlinked(folder, inner) or _is_moved_up(folder, inner, top)
    finally:
        os.close(folder)
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=top)
        return True
    return has_changed


def _is_unlinked(folder: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def _is_moved_up(folder: int, name: str, top: int) -> bool:
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=folder)
        return True
    try:
        os.close(_opened(folder, name))  # a folder that is closed cannot be moved
        os.rename(name, secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)
    except OSError:
        return False
    return True


def _opened(folder: int, name: str) -> int:
    """A folder, made to be read and written by its owner; no link leads anywhere else."""
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{place}", stat.S_IRWXU)
    finally:
        os.close(place)
    return os.open(name, _FOLDER, dir_fd=folder)
