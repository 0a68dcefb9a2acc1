"""Keeping the embedded servers of a stack running: what was killed is started again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.cli import stack
from app.cli.logins import Logins
from app.cli.parent import Parent
from app.config import Settings
from app.domain.errors import ServersUnavailable
from app.embedded import servers
from app.embedded.servers import Addresses

EVERY = 0.5  #: seconds between two looks


@contextmanager
def guarded(
    settings: Settings, found: Logins, parent: Parent, slots: int, say: Callable[[str], None]
) -> Iterator[None]:
    """Inside, embedded servers that end are back soon, and it is said once.

    Roles learn new addresses by being started again. Servers of somebody's own are theirs.
    """
    if settings.database_url:
        yield
        return

    def moved(new: Logins) -> None:
        parent.replace(stack.roles_of(settings, new, slots))

    stop = threading.Event()
    guard = threading.Thread(target=_guard, args=[settings, found, moved, say, stop], daemon=True)
    guard.start()
    try:
        yield
    finally:
        stop.set()
        guard.join()


def _guard(
    settings: Settings, found: Logins, moved: Callable[[Logins], None],
    say: Callable[[str], None], stop: threading.Event,
) -> None:  # fmt: skip
    seen, trouble = servers.alive(settings.home), ""
    while not stop.wait(EVERY):
        if seen is not None and seen == servers.alive(settings.home):
            continue
        try:
            addresses = _back(settings, say)
        except ServersUnavailable as fault:
            if fault.message != trouble:
                say(f"the embedded servers do not come back: {fault.message}")
            trouble = fault.message
            continue
        seen, trouble = servers.alive(settings.home), ""
        new = Logins(addresses.app_url, addresses.worker_url, addresses.redis_url)
        if new != found:
            found = new
            moved(new)


def _back(settings: Settings, say: Callable[[str], None]) -> Addresses:
    had_ended = servers.running(settings.home) is None  # else another command was faster
    addresses = servers.start(settings.home)
    if had_ended:
        say("the embedded servers had ended; they run again")
    return addresses
