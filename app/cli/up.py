"""`fencepost up`: the parent of a whole stack."""

from __future__ import annotations

import functools
import signal
import threading
import time
from datetime import timedelta

import click

from app import config
from app.cli import apart, home, record, stack
from app.cli.duration import GRACE
from app.cli.guard import guarded
from app.cli.interrupt import on_stop
from app.cli.parent import Parent
from app.cli.record import ParentKind
from app.cli.tail import Tail
from app.cli.up_told import Tell, teller
from app.config import Settings
from app.domain.errors import WrongState


@click.command()
@click.option("--detach", is_flag=True, help="Leave it running; `fencepost down` ends it.")
@click.option("--slots", type=click.IntRange(1, 1000), default=4, show_default=True)
@click.option("--grace", type=GRACE, default="60s", show_default=True,
              help="How long running work may take to end before it is handed back.")  # fmt: skip
@click.option("--json", "in_full", is_flag=True,
              help="Every log line as an object on standard output, for programs.")  # fmt: skip
def command(detach: bool, slots: int, grace: timedelta, in_full: bool) -> None:
    """Start servers, dispatcher and a worker; Ctrl-C drains, twice hands running work back.

    A terminal gets what happens in short; all of it is in the home's `logs` folder.

    Without FENCEPOST_DATABASE_URL (the owner's) and FENCEPOST_REDIS_URL it uses servers of its own.
    """
    settings = config.read()
    home.prepare(settings.home)
    if up := record.find_up(settings.home):
        if not detach:
            raise _already(up.pid)
        print(f"already up (pid {up.pid})")
    elif detach:
        print(f"up (pid {apart.start(settings.home, slots, grace).pid})")
    else:
        return _stay(settings, slots, grace.total_seconds(), teller(in_full=in_full))
    return print("next: fencepost status, or fencepost run -- COMMAND")


def _stay(settings: Settings, slots: int, grace: float, tell: Tell) -> None:
    on_stop(signal.default_int_handler)
    say = functools.partial(tell, "fencepost")
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
                    _tell_news(tails, tell)
                say("drains; again to hand running work back")
                parent.stop(grace, hurry)
            _tell_news(tails, tell)
            say("down")


def _tell_news(tails: list[Tail], tell: Tell) -> None:
    for tail in tails:
        for line in tail.lines():
            tell(tail.name, line)


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
