"""`fencepost refs`: what workers have left at remotes to keep one another off, and its end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import click

from app import config
from app.cli import refs_told, stack
from app.cli.acting import allowed
from app.cli.duration import Duration
from app.cli.shown import as_json, json_line
from app.config import Settings
from app.domain.errors import BadInput, FencepostError, NotFound
from app.domain.pruning import ALARMING, LONGEST, RETENTION, SHORTEST, Judged, Standing
from app.github.account import account_of
from app.github.hub import Hub
from app.operations.place import Desk, Place, desk, places
from app.operations.prune import listed, prune
from app.operations.retention import kept_for
from app.store.engine import Store
from app.store.views.fleet import repositories_seen

_REPOSITORY = click.option("--repository", metavar="NAME", help="By name, id or address; else all.")
_OLDER = click.option(
    "--older-than", type=Duration(LONGEST, SHORTEST), metavar="AGE",
    help="Ended longer ago; else FENCEPOST_REFS_RETENTION, else 30d.",
)  # fmt: skip
_JSON = click.option("--json", "in_full", is_flag=True, help="In full, for programs.")


@dataclass(slots=True)
class Tally:
    """What came of every ref, and which remotes could not be asked."""

    refs: Counter[Standing] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1: something is for a person, or could not be done."""
        wrong = (*ALARMING, Standing.REFUSED)
        return int(bool(self.unread) or any(self.refs[one] for one in wrong))


@click.group()
def command() -> None:
    """List and prune operation refs: a remote's memory of each run, kept after its end."""


@command.command(name="list")
@_REPOSITORY
@_OLDER
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=200, show_default=True)
@_JSON
def list_(
    repository: str | None, older_than: timedelta | None, limit: int, in_full: bool
) -> int:  # fmt: skip
    """List the operation refs at every remote, and what is known of each."""
    settings = config.read()
    found: list[tuple[Place, Judged]] = []
    tally = Tally()
    with stack.opened(settings) as store:
        retention = older_than or kept_for(settings) or RETENTION

        def take(place: Place, at: Desk) -> None:
            found.extend((place, one) for one in listed(store, place, at, retention))

        _each(store, settings, repository, tally, take)
    tally.refs.update(one.standing for _, one in found)
    if in_full:
        as_json([refs_told.facts(place, one) for place, one in found])
    else:
        refs_told.table(found, limit)
        refs_told.counted(tally.refs)
    return int(bool(tally.unread))


@command.command(name="prune")
@_REPOSITORY
@_OLDER
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and change nothing.")
@click.option("--limit", type=click.IntRange(1), help="Delete at most so many at each remote.")
@click.option("--json", "in_full", is_flag=True, help="A line for each ref that was due.")
def prune_(
    repository: str | None, older_than: timedelta | None, dry_run: bool, limit: int | None,
    in_full: bool,
) -> int:  # fmt: skip
    """Delete the refs of work whose end is in the database for longer than the retention.

    Each goes only from the very commit that was read. What has not ended, is held, is another
    installation's, or does not end as the rows say is never touched. Asked again after a crash it
    goes on where it was.
    """
    settings = config.read()
    tally = Tally()
    with stack.opened(settings) as store:
        allowed(store, settings, "prune")
        retention = older_than or kept_for(settings)
        if retention is None:
            raise BadInput("FENCEPOST_REFS_RETENTION is 0", hint="say how old: --older-than 30d")

        def take(place: Place, at: Desk) -> None:
            for one in prune(store, place, at, retention, most=limit, is_rehearsal=dry_run):
                tally.refs[one.standing] += 1
                if in_full and one.standing not in refs_told.KEPT:
                    json_line(refs_told.facts(place, one))
                elif one.standing in ALARMING or one.standing is Standing.REFUSED:
                    refs_told.say(place, one)

        _each(store, settings, repository, tally, take)
    if in_full:
        json_line({"dry_run": dry_run, "refs": dict(tally.refs), "unread": tally.unread})
    else:
        refs_told.sum_up(tally.refs, is_rehearsal=dry_run)
    return tally.exit_code


def _each(
    store: Store, settings: Settings, named: str | None, tally: Tally,
    take: Callable[[Place, Desk], None],
) -> None:  # fmt: skip
    """Take every remote that is meant; one that does not answer keeps no other from its turn."""
    hub = Hub(account_of(settings))
    with store.begin() as tx:
        known = places(repositories_seen(tx))
    for place in _meant(known, named):
        try:
            with desk(place, settings.home, hub) as at:
                if at is None:
                    print(f"{place.name}: its mirror is not on this host", file=sys.stderr)
                else:
                    take(place, at)
        except FencepostError as fault:
            tally.unread.append(place.name)
            print(f"warning: {place.name}: {fault.message} ({fault.code})", file=sys.stderr)


def _meant(known: Iterable[Place], named: str | None) -> list[Place]:
    found = [place for place in known if named is None or place.is_called(named)]
    if named is not None and not found:
        raise NotFound(f"no repository {named}", hint="`fencepost refs list` shows all of them")
    return found
