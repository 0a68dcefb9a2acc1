"""`fencepost run`: the main job, from nothing to a pull request."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import click

from app import config
from app.cli import apart, home, order, record, stack, watching
from app.cli.acting import acting
from app.cli.duration import DURATION
from app.cli.guard import guarded
from app.cli.interrupt import collected, on_stop
from app.cli.logins import Logins
from app.cli.order import Dispatched, Order, Wanted
from app.cli.parent import Parent
from app.cli.progress import Progress, Say, progress
from app.cli.record import ParentKind
from app.cli.repos import carrying, reading
from app.cli.repos.screen import screen
from app.cli.shown import json_line
from app.config import Settings
from app.domain.work_order import Style
from app.repository.address import is_url
from app.repository.mirror import open_mirror, pull_command

_GRACE = 10.0  #: seconds for roles that have nothing left to do
_SLOTS = 4


@click.command()
@click.option(
    "--repo", metavar="PATH-or-URL",
    help="Else the repository one stands in. A URL at github.com, or at the host of "
    "FENCEPOST_GITHUB_URL, ends in a pull request there if FENCEPOST_GITHUB_TOKEN is set.",
)  # fmt: skip
@click.option(
    "--repos", metavar="FILE", help="A list, one a line, `PATH-or-URL [BASE]`; - reads it."
)
@click.option("--base", help="Branch or commit to start from; else the current branch.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="What may change.")
@click.option(
    "--check", "checks", multiple=True, metavar="CMD", help="A shell command that must pass."
)
@click.option("--agent", help="Let codex or claude-code do it; in place of COMMAND, one TEXT.")
@click.option("--title", help="Of the pull request; else the command.")
@click.option("--timeout", type=DURATION, default="30m", show_default=True, help="For the command.")
@click.option(
    "--check-timeout", type=DURATION, default="10m", show_default=True, help="For each check."
)
@click.option(
    "--serial", is_flag=True, help="Begin only while no other request on the base is open."
)
@click.option(
    "--draft", is_flag=True, help="Open the request as a draft, where the forge has them."
)
@click.option("--label", "labels", multiple=True, help="Of the request, where the forge has them.")
@click.option(
    "--sparse", "folders", multiple=True, metavar="FOLDER", help="Check out this folder alone."
)
@click.option("--depth", type=int, metavar="N", help="Show N commits of history; else all of it.")
@click.option("--submodules", is_flag=True, help="Fetch submodules too, to be read.")
@click.option("--lfs", is_flag=True, help="Fetch the large files of Git LFS too, to be read.")
@click.option("--again", is_flag=True, help="Of a list, begin anew what failed or was canceled.")
@click.option("--reason", metavar="WHY", help="Why it may succeed --again; ten characters or more.")
@click.option("--detach", is_flag=True, help="Print the attempt and leave the stack running.")
@click.option("--json", "as_json", is_flag=True, help="One line for each event, a summary last.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    repo: str | None, repos: str | None, base: str | None, paths: tuple[str, ...],
    checks: tuple[str, ...], agent: str | None, title: str | None, timeout: timedelta,
    check_timeout: timedelta, serial: bool, draft: bool, labels: tuple[str, ...],
    folders: tuple[str, ...], depth: int | None, submodules: bool, lfs: bool, again: bool,
    reason: str | None, detach: bool, as_json: bool, command: tuple[str, ...],
) -> int:  # fmt: skip
    """Run COMMAND on a fresh checkout of a repository, check what it changed, and open a request.

    With --agent a coding agent is asked to do what the text says: see docs/agents.md.

    With --repos it does so on each repository of a list, and skips those where it was done before.

    Exit codes: 0 done or unchanged, 1 failed, 2 refused, 3 outcome unknown, 130 interrupted.
    """
    on_stop(signal.default_int_handler)
    settings = config.read()
    style = Style(draft, labels)
    asks = order.agent_of(agent, command)
    asked = Wanted(
        paths, checks, command if asks is None else (), title, timeout, check_timeout, serial,
        style, asks, order.extent_of(folders, depth, submodules=submodules, lfs=lfs),
    )  # fmt: skip
    why = _check_use(repo, repos, again, reason)
    if repos is not None:
        return _many(settings, repos, asked, base, why, detach=detach, as_json=as_json)
    wanted = order.read(asked, repo or ".", base)
    home.prepare(settings.home)
    with progress(as_json=as_json) as shown:
        if wanted.source.dirty:
            shown.say(f"warning: {wanted.source.url} has changes that no commit holds; "
                      f"{wanted.source.sha[:12]} is used as it is", code="dirty")  # fmt: skip
        if detach:
            return _detached(settings, wanted, shown, as_json=as_json)
        return _followed(settings, wanted, shown, as_json=as_json)


def _check_use(repo: str | None, repos: str | None, again: bool, reason: str | None) -> str | None:
    """Refuse options that do not go together; why what ended badly is begun anew, if it is."""
    if repos is None and (again or reason is not None):
        raise click.UsageError("--again and --reason go with --repos")
    if repos is not None and repo is not None:
        raise click.UsageError("give --repo or --repos")
    if again != (reason is not None):
        raise click.UsageError("--again and --reason go together")
    if reason is not None:
        carrying.check_reason(reason)
    return reason


def _many(
    settings: Settings, path: str, wanted: Wanted, base: str | None, again: str | None,
    *, detach: bool, as_json: bool,
) -> int:  # fmt: skip
    with screen(as_json=as_json) as shown:
        entries = reading.read(path, wanted, base, shown.say)
        home.prepare(settings.home)
        if not detach:
            with _stack(settings, shown.say) as (found, parent):
                return carrying.followed(
                    settings, found, parent, entries, again, shown, as_json=as_json
                )
        _start_apart(settings)
        with stack.joined(settings) as found:
            return carrying.detached(settings, found, entries, again, shown, as_json=as_json)


def _followed(settings: Settings, wanted: Order, shown: Progress, *, as_json: bool) -> int:
    with _stack(settings, shown.say) as (found, parent), stack.store_of(found) as store:
        stack.check_redis(found.redis_url)
        new = order.carry_out(store, settings.home, wanted, acting(store, settings))
        place = f"{wanted.source.name} at {wanted.source.base} {new.base.sha[:12]}"
        shown.say(f"attempt {new.attempt} of {place}", attempt=new.attempt)
        _say_if_ahead(settings.home, shown, wanted, new)
        with collected() as interrupts:
            watch = watching.Watch(
                store, settings.home, new, found.redis_url, parent, shown, interrupts
            )
            return watching.to_the_end(watch, as_json=as_json)


def _detached(settings: Settings, wanted: Order, shown: Progress, *, as_json: bool) -> int:
    _start_apart(settings)
    with stack.joined(settings) as found, stack.store_of(found) as store:
        stack.check_redis(found.redis_url)
        new = order.carry_out(store, settings.home, wanted, acting(store, settings))
    _say_if_ahead(settings.home, shown, wanted, new)
    shown.close()
    if as_json:
        json_line({"type": "dispatched", "attempt": new.attempt, "world": new.world})
        return 0
    shown.say(f"the stack stays; next: fencepost logs {new.attempt} --follow, fencepost down")
    print(new.attempt)
    return 0


def _start_apart(settings: Settings) -> None:
    """A stack that stays, where there is none."""
    if record.find_up(settings.home) is None and not _is_named(settings):
        apart.start(settings.home, _SLOTS)


def _say_if_ahead(folder: Path, shown: Progress, wanted: Order, new: Dispatched) -> None:
    """Say that the work starts from another commit than the one that the reader looks at."""
    if new.base.sha != wanted.source.sha:
        where = wanted.source.url if is_url(wanted.source.url) else "your clone"
        mirror = open_mirror(folder / "forge", new.repository)
        shown.say(
            f"the forge's {new.base.branch} has merged requests that {where} lacks: "
            f"{pull_command(mirror, new.base.branch)}",
            code="forge_is_ahead",
        )


@contextmanager
def _stack(settings: Settings, say: Say) -> Iterator[tuple[Logins, Parent | None]]:
    """A stack that is there, or one of our own, which ends with us."""
    if record.find_up(settings.home) or _is_named(settings):
        with stack.joined(settings) as found:
            yield found, None
        return
    record.sweep(settings.home)
    with stack.provided(settings) as found:
        own = record.myself(ParentKind.RUN, time.time(), embedded=True)
        parent = Parent(settings.home, own, say)
        patience = (_GRACE, _GRACE)
        with guarded(settings, found, parent, _SLOTS, say):
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
