"""`fencepost run`: the main job, from nothing to a pull request."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import click

from app import config
from app.broker.redis import Broker
from app.cli import apart, home, order, record, stack, watching
from app.cli.duration import DURATION
from app.cli.interrupt import collected
from app.cli.logins import Logins
from app.cli.order import Order
from app.cli.parent import Parent
from app.cli.progress import Progress, progress
from app.cli.record import ParentKind
from app.cli.shown import json_line
from app.config import Settings

_GRACE = 10.0  #: seconds for roles that have nothing left to do
_SLOTS = 4


@click.command()
@click.option("--repo", default=".", help="Path or URL; else the repository one stands in.")
@click.option("--base", help="Branch or commit to start from; else the current branch.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="What may change.")
@click.option(
    "--check", "checks", multiple=True, metavar="CMD", help="A shell command that must pass."
)
@click.option("--title", help="Of the pull request; else the command.")
@click.option("--timeout", type=DURATION, default="30m", show_default=True, help="For the command.")
@click.option(
    "--check-timeout", type=DURATION, default="10m", show_default=True, help="For each check."
)
@click.option("--detach", is_flag=True, help="Print the attempt and leave the stack running.")
@click.option("--json", "as_json", is_flag=True, help="One line for each event, a summary last.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    repo: str, base: str | None, paths: tuple[str, ...], checks: tuple[str, ...], title: str | None,
    timeout: timedelta, check_timeout: timedelta, detach: bool, as_json: bool,
    command: tuple[str, ...],
) -> int:  # fmt: skip
    """Run COMMAND on a fresh checkout of a repository, check what it changed, and open a request.

    Exit codes: 0 done or unchanged, 1 failed, 2 refused, 3 outcome unknown, 130 interrupted.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    settings = config.read()
    wanted = order.read(repo, base, paths, checks, command, title, timeout, check_timeout)
    home.prepare(settings.home)
    with progress(as_json=as_json) as shown:
        if wanted.source.dirty:
            shown.say(f"warning: {wanted.source.url} has changes that no commit holds; "
                      f"{wanted.source.sha[:12]} is used as it is", code="dirty")  # fmt: skip
        if detach:
            return _detached(settings, wanted, shown, as_json=as_json)
        return _followed(settings, wanted, shown, as_json=as_json)


def _followed(settings: Settings, wanted: Order, shown: Progress, *, as_json: bool) -> int:
    with _stack(settings, shown) as (found, parent), stack.store_of(found) as store:
        _check_redis(found)
        new = order.carry_out(store, settings.home, wanted)
        place = f"{wanted.source.name} at {wanted.source.base} {wanted.source.sha[:12]}"
        shown.say(f"attempt {new.attempt} of {place}", attempt=new.attempt)
        with collected() as interrupts:
            watch = watching.Watch(
                store, settings.home, new, found.redis_url, parent, shown, interrupts
            )
            return watching.to_the_end(watch, as_json=as_json)


def _detached(settings: Settings, wanted: Order, shown: Progress, *, as_json: bool) -> int:
    if record.find_up(settings.home) is None and not _is_named(settings):
        apart.start(settings.home, _SLOTS)
    with stack.joined(settings) as found, stack.store_of(found) as store:
        _check_redis(found)
        new = order.carry_out(store, settings.home, wanted)
    shown.close()
    if as_json:
        json_line({"type": "dispatched", "attempt": new.attempt, "world": new.world})
        return 0
    shown.say(f"the stack stays; next: fencepost logs {new.attempt} --follow, fencepost down")
    print(new.attempt)
    return 0


@contextmanager
def _stack(settings: Settings, shown: Progress) -> Iterator[tuple[Logins, Parent | None]]:
    """A stack that is there, or one of our own, which ends with us."""
    if record.find_up(settings.home) or _is_named(settings):
        with stack.joined(settings) as found:
            yield found, None
        return
    record.sweep(settings.home)
    with stack.provided(settings) as found:
        own = record.myself(ParentKind.RUN, time.time(), embedded=True)
        parent = Parent(settings.home, own, shown.say)
        patience = (_GRACE, _GRACE)
        try:
            parent.start(stack.roles_of(settings, found, _SLOTS))
            yield found, parent
        except watching.AtOnce:
            patience = (0.0, 1.0)
            raise KeyboardInterrupt from None
        finally:
            parent.stop(patience[0], last=patience[1])


def _is_named(settings: Settings) -> bool:
    """Whether somebody's own servers are meant."""
    return settings.database_url is not None


def _check_redis(found: Logins) -> None:
    """Refuse before anything is written, where messages could not be sent safely."""
    broker = Broker(config.required(found.redis_url, "FENCEPOST_REDIS_URL"), role="cli")
    try:
        broker.check()
    finally:
        broker.close()
