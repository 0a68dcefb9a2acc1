"""How a role learns that its parent died: an inherited pipe that reaches its end."""

from __future__ import annotations

import os
import signal
import threading

#: The number of the pipe's reading end; the parent holds the only writing end.
PARENT_FD = "FENCEPOST_PARENT_FD"
#: Seconds for draining; afterwards the second SIGTERM hands running work back (Q06).
PATIENCE = 30.0


def watch_parent() -> None:
    """End this process by SIGTERM once its parent is gone; does nothing where no parent watches.

    The pipe is closed to this process's own children, so that only the parent's life counts.
    """
    given = os.environ.pop(PARENT_FD, "")
    if not given.isdigit():
        return
    descriptor = int(given)
    try:
        os.set_inheritable(descriptor, False)
    except OSError:
        return  # somebody in between closed it, so it tells nothing
    threading.Thread(target=_await_end, args=[descriptor], name="parentage", daemon=True).start()


def _await_end(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(PATIENCE)
    os.kill(os.getpid(), signal.SIGTERM)
