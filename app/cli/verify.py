"""`fencepost verify`: every law, checked on the rows and at the remote, with code of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from app import config
from app.cli import stack
from app.cli.failing import DONE, FAILED
from app.cli.shown import json_line, painted, plain
from app.domain.errors import NotFound
from app.verify.finding import Finding, Unread
from app.verify.reading import Reading, World, snapshot
from app.verify.registry import Tally, verify


@click.command()
@click.option("--world", help="Only this world, by its name or its id.")
@click.option("--json", "in_full", is_flag=True, help="A JSON object a line, for programs.")
def command(world: str | None, in_full: bool) -> int:
    """Check a whole database; a line for each violation, and exit 1 on any.

    It reads one snapshot and writes nothing, so it may run beside a working stack.
    """
    unread = Counter[str]()

    def say(finding: Finding) -> None:
        if isinstance(finding, Unread):
            unread[finding.what] += 1
        elif in_full:
            json_line({"violation": finding})
        else:
            print(plain(str(finding)))

    with _reading() as reading:
        tallies = verify(reading, _chosen(reading, world), say)
    if in_full:
        json_line({"checks": tallies, "not_read": unread})
    else:
        _summary(tallies, unread)
    return FAILED if any(tally.violations for tally in tallies) else DONE


@contextmanager
def _reading() -> Iterator[Reading]:
    settings = config.read()
    with stack.joined(settings) as found:
        with stack.store_of(found):
            pass  # the login and the revision are what this code expects
        with snapshot(found.app_url, settings.home / "forge") as reading:
            yield reading


def _chosen(reading: Reading, name: str | None) -> list[World]:
    known = [World(reading, row) for row in reading.worlds()]
    chosen = [one for one in known if name in (None, one.row.name, one.id)]
    if name is not None and not chosen:
        raise NotFound(f"no world is called {name}", hint="see `fencepost worlds list`")
    return chosen


def _summary(tallies: Sequence[Tally], unread: Mapping[str, int]) -> None:
    for tally in tallies:
        words = f"{tally.check:>14}  {tally.rows:>8} rows read  {tally.violations:>4} violations"
        not_read = f"  {tally.unread} not read" if tally.unread else ""
        print(painted(words, "red") + not_read if tally.violations else words + not_read)
    for what, count in sorted(unread.items()):
        print(f"not read: {plain(what)} ({count})")
    total = sum(tally.violations for tally in tallies)
    print(painted(f"{total} violations", "red") if total else painted("every law is kept", "green"))
    print("next: fencepost " + ("explain ID" if total else "status"))
