"""FENCEPOST_HOME as the commands use it: a folder of one's own, and the locks in it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.domain.errors import SetupError


class HomeUnusable(SetupError):
    """FENCEPOST_HOME cannot be made or written; name another."""

    code = "home_unusable"
    hint = "set FENCEPOST_HOME to a folder that is yours"


class HomeNotOurs(HomeUnusable):
    """FENCEPOST_HOME belongs to somebody else; root too leaves nothing of its own in there."""

    code = "home_not_ours"
    hint = "run this as the user that it belongs to, or set FENCEPOST_HOME to a folder of yours"


def check_ours(home: Path) -> None:
    """HomeNotOurs if the home is there and belongs to another user; nothing is touched."""
    try:
        owner = home.stat().st_uid
    except OSError:
        return  # it is not there yet, or cannot be seen: who makes it says so
    if owner != os.geteuid():
        raise HomeNotOurs(f"{home} belongs to user {owner}, and we are {os.geteuid()}")


def prepare(home: Path, *, is_shared: bool = False) -> Path:
    """Make the home, closed to others, and its folder for logs; HomeUnusable if that is refused.

    `is_shared`: another user's will do, if it lets us write.
    """
    if not is_shared:
        check_ours(home)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / "logs").mkdir(mode=0o700, exist_ok=True)
        (home / "stacks").mkdir(mode=0o700, exist_ok=True)
    except OSError as fault:
        raise HomeUnusable(f"{home}: {fault.strerror}") from fault
    if not os.access(home, os.W_OK | os.X_OK):
        raise HomeUnusable(f"{home} cannot be written")
    return home


@contextmanager
def shared(lock: Path) -> Iterator[int]:
    """Hold a lock together with others; the kernel drops it with the process, whatever its end."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """Try to hold a lock alone; whether that worked. It never waits."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield is_taken(descriptor)
    finally:
        os.close(descriptor)


def is_taken(descriptor: int) -> bool:
    """Take an open lock alone, if nobody else holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
