"""`fencepost run`: the main job, from nothing to a pull request."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import click

from app import config
from app.cli import apart, home, order, record, stack, watching
from app.cli.acting import acting
from app.cli.duration import DURATION
from app.cli.guard import guarded
from app.cli.interrupt import collected, on_stop
from app.cli.logins import Logins
from app.cli.order import Dispatched, Order
from app.cli.parent import Parent
from app.cli.progress import Progress, progress
from app.cli.record import ParentKind
from app.cli.shown import json_line
from app.config import Settings
from app.repository.address import is_url
from app.repository.mirror import pull_command

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
@click.option(
    "--serial", is_flag=True, help="Begin only while no other request on the base is open."
)
@click.option("--detach", is_flag=True, help="Print the attempt and leave the stack running.")
@click.option("--json", "as_json", is_flag=True, help="One line for each event, a summary last.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    repo: str, base: str | None, paths: tuple[str, ...], checks: tuple[str, ...], title: str | None,
    timeout: timedelta, check_timeout: timedelta, serial: bool, detach: bool, as_json: bool,
    command: tuple[str, ...],
) -> int:  # fmt: skip
    """Run COMMAND on a fresh checkout of a repository, check what it changed, and open a request.

    Exit codes: 0 done or unchanged, 1 failed, 2 refused, 3 outcome unknown, 130 interrupted.
    """
    on_stop(signal.default_int_handler)
    settings = config.read()
    wanted = order.read(
        repo, base, paths, checks, command, title, timeout, check_timeout, serial=serial
    )
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
        stack.check_redis(found.redis_url)
        new = order.carry_out(store, settings.home, wanted, acting(store, settings))
        place = f"{wanted.source.name} at {wanted.source.base} {new.base.sha[:12]}"
        shown.say(f"attempt {new.attempt} of {place}", attempt=new.attempt)
        _say_if_ahead(shown, wanted, new)
        with collected() as interrupts:
            watch = watching.Watch(
                store, settings.home, new, found.redis_url, parent, shown, interrupts
            )
            return watching.to_the_end(watch, as_json=as_json)


def _detached(settings: Settings, wanted: Order, shown: Progress, *, as_json: bool) -> int:
    if record.find_up(settings.home) is None and not _is_named(settings):
        apart.start(settings.home, _SLOTS)
    with stack.joined(settings) as found, stack.store_of(found) as store:
        stack.check_redis(found.redis_url)
        new = order.carry_out(store, settings.home, wanted, acting(store, settings))
    _say_if_ahead(shown, wanted, new)
    shown.close()
    if as_json:
        json_line({"type": "dispatched", "attempt": new.attempt, "world": new.world})
        return 0
    shown.say(f"the stack stays; next: fencepost logs {new.attempt} --follow, fencepost down")
    print(new.attempt)
    return 0


def _say_if_ahead(shown: Progress, wanted: Order, new: Dispatched) -> None:
    """Say that the work starts from another commit than the one that the reader looks at."""
    if new.base.sha != wanted.source.sha:
        where = wanted.source.url if is_url(wanted.source.url) else "your clone"
        shown.say(
            f"the forge's {new.base.branch} has merged requests that {where} lacks: "
            f"{pull_command(new.mirror, new.base.branch)}",
            code="forge_is_ahead",
        )


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
        with guarded(settings, found, parent, _SLOTS, shown.say):
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
