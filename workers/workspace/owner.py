"""Who owns a checkout: whoever holds the lock on the file beside it, and nobody else (E01).

The kernel frees the lock when its holder dies, so a dead owner is recognised without process ids.
"""

from __future__ import annotations

import fcntl
import os
import time
from datetime import timedelta
from pathlib import Path

from workers.workspace.locking import is_still


class Ownership:
    """One held lock; released by `release`, or by the death of this process."""

    def __init__(self, file: Path, descriptor: int) -> None:
        self.file = file
        self._descriptor = descriptor

    def release(self) -> None:
        """Take the lock's file away, then let go."""
        if self._descriptor >= 0:
            self.file.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1


def lock_beside(root: Path) -> Path:
    """The lock file of a checkout's folder."""
    return root.with_name(root.name + ".lock")


def own(root: Path, patience: timedelta = timedelta(0)) -> Ownership | None:
    """Take a checkout's lock, or None when somebody living still holds it after the patience."""
    file = lock_beside(root)
    until = time.monotonic() + patience.total_seconds()
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() >= until:
                return None
            time.sleep(0.01)
            continue
        if is_still(file, descriptor):
            return Ownership(file, descriptor)
        # The holder before us took the file away between our open and our lock.
        os.close(descriptor)
