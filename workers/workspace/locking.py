"""Locks on files, which the kernel frees when their holder dies, so that no process id is judged.

A lock is its file descriptor's: threads of one process exclude each other like processes do.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.repository.git import Interrupted

_LOOK = 0.05  #: seconds between two looks at a lock and the wish to stop


@contextmanager
def locked(
    file: Path, *, shared: bool = False, stop: threading.Event | None = None
) -> Iterator[int]:
    """Wait for a lock and hold it; the descriptor that has it. Interrupted once `stop` is set."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    descriptor = _taken(file, how) if stop is None else _taken_unless(file, how, stop)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def if_free(file: Path) -> Iterator[int | None]:
    """Hold a lock alone, or None where somebody else has it."""
    try:
        descriptor = _taken(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_still(file: Path, descriptor: int) -> bool:
    """Whether the file of that name is the one that was opened; its holder may have removed it."""
    held = os.fstat(descriptor)
    try:
        named = file.stat()
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


def _taken_unless(file: Path, how: int, stop: threading.Event) -> int:
    while True:
        try:
            return _taken(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if stop.wait(_LOOK):
                raise Interrupted from None


def _taken(file: Path, how: int) -> int:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, how)
        except BaseException:
            os.close(descriptor)
            raise
        if is_still(file, descriptor):
            return descriptor
        os.close(descriptor)  # taken away between our open and our lock
