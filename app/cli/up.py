"""`fencepost up`: the parent of a whole stack."""

from __future__ import annotations

import signal
import sys
import threading
import time
from datetime import timedelta

import click

from app import config
from app.cli import apart, home, record, stack
from app.cli.duration import DURATION
from app.cli.guard import guarded
from app.cli.interrupt import on_stop
from app.cli.parent import Parent
from app.cli.record import ParentKind
from app.cli.tail import Tail
from app.config import Settings
from app.domain.errors import WrongState


@click.command()
@click.option("--detach", is_flag=True, help="Leave it running; `fencepost down` ends it.")
@click.option("--slots", type=click.IntRange(1, 1000), default=4, show_default=True)
@click.option("--grace", type=DURATION, default="60s", show_default=True,
              help="How long running work may take to end before it is handed back.")  # fmt: skip
def command(detach: bool, slots: int, grace: timedelta) -> None:
    """Start servers, dispatcher and a worker; Ctrl-C drains, twice hands running work back.

    Without FENCEPOST_DATABASE_URL (the owner's) and FENCEPOST_REDIS_URL it uses servers of its own.
    """
    settings = config.read()
    home.prepare(settings.home)
    if up := record.find_up(settings.home):
        if not detach:
            raise _already(up.pid)
        print(f"already up (pid {up.pid})")
    elif detach:
        print(f"up (pid {apart.start(settings.home, slots).pid})")
    else:
        return _stay(settings, slots, grace.total_seconds())
    return print("next: fencepost status, or fencepost run -- COMMAND")


def _stay(settings: Settings, slots: int, grace: float) -> None:
    on_stop(signal.default_int_handler)
    with home.alone(settings.home / "up.lock") as is_first:
        if not is_first:
            raise _already(None)
        if left := record.sweep(settings.home):
            say(f"ended {left} processes that a dead parent left behind")
        with stack.provided(settings) as found:
            own = record.myself(ParentKind.UP, time.time(), embedded=not settings.database_url)
            parent = Parent(settings.home, own, say)
            stop, hurry = _on_signals()
            tails = [Tail(settings.home, name) for name in ("dispatcher", "worker")]
            with guarded(settings, found, parent, slots, say):
                parent.start(stack.roles_of(settings, found, slots))
                say(f"up: dispatcher and a worker with {slots} slots, home {settings.home}")
                say("next: fencepost run -- COMMAND in a git repository; Ctrl-C here drains")
                while not stop.wait(0.2):
                    for tail in tails:
                        tail.show()
                say("drains; again to hand running work back")
                parent.stop(grace, hurry)
            say("down")


def say(line: str) -> None:
    """A line of the parent itself."""
    print(f"fencepost  {line}", file=sys.stderr, flush=True)


def _on_signals() -> tuple[threading.Event, threading.Event]:
    """The first signal asks for draining, the second for haste."""
    stop, hurry = threading.Event(), threading.Event()

    def heard(*_: object) -> None:
        (hurry if stop.is_set() else stop).set()

    on_stop(heard)
    return stop, hurry


def _already(pid: int | None) -> WrongState:
    who = f" (pid {pid})" if pid else ""
    return WrongState(f"a stack is up in this home{who}", hint="`fencepost status`, or `down`")
