"""Using the embedded servers: they run while anybody uses them, and the last one stops them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.cli.home import is_taken, prepare, shared
from app.embedded import servers
from app.embedded.servers import Addresses


@contextmanager
def embedded(home: Path) -> Iterator[Addresses]:
    """The servers of a home, started if need be.

    What no command of ours started is left running; what a kill -9 left is ours, and is stopped.
    """
    prepare(home)
    with shared(home / "users.lock") as lock:
        found = servers.noted(home)
        if found is None:
            _mark(home).touch(mode=0o600)
        try:
            yield found or servers.start(home)
        finally:
            if _mark(home).exists() and is_taken(lock):
                stop(home)


def stop_unless_used(home: Path) -> bool:
    """End the servers, whoever started them; False: another command uses them."""
    with shared(home / "users.lock") as lock:
        if not is_taken(lock):
            return False
        stop(home)
        return True


def stop(home: Path) -> None:
    """End the servers; the lock is held alone."""
    servers.stop(home)
    _mark(home).unlink(missing_ok=True)


def _mark(home: Path) -> Path:
    """Says that a command started the servers, so that a command may stop them."""
    return home / "servers.started"
