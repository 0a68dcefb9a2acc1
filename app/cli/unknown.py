"""`fencepost unknown`: what is held for a person, and the person's decision."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from app import config
from app.cli import stack, unknown_told
from app.cli.acting import acting
from app.cli.duration import Duration
from app.cli.resolving import Resolver
from app.cli.shown import age, as_json, json_line, listing, plain
from app.domain.decision import Decision
from app.domain.errors import BadInput
from app.kinds.registry import KINDS
from app.store import worlds
from app.store.engine import Tx
from app.store.views.listing import worlds_listed
from app.store.views.unknowns import Sought, tried, unknown_named, unknowns_listed
from app.transitions.resolve import Word

_Decorated = Callable[..., Any]

_MOST = 10_000  #: that one command decides


@click.group()
def command() -> None:
    """List, show and decide work whose outcome nothing proves."""


def _filters(function: _Decorated) -> _Decorated:
    """The options that say which unknowns are meant."""
    for option in (
        click.option("--text", metavar="WORDS", help="In detail, ids or title."),
        click.option("--older-than", type=Duration(timedelta(days=3650)), metavar="AGE",
                     help="Held longer ago: 1d."),
        click.option("--repository", metavar="NAME", help="Its name or its id."),
        click.option("--code", help="Why it is held: unresolved_call."),
        click.option("--kind", type=click.Choice(list(KINDS)), help="Of the activity."),
        click.option("--world", metavar="NAME"),
    ):  # fmt: skip
        function = option(function)
    return function


@command.command(name="list")
@_filters
@click.option("--all", "every", is_flag=True, help="Those too that were decided.")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(every: bool, in_full: bool, **said: Any) -> None:
    """List what waits for a person, the newest first."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        found = unknowns_listed(tx, _sought(tx, said), is_open=not every)
    if in_full:
        return as_json([unknown_told.in_full(one) for one in found])
    ids = unknown_told.short_ids(found)
    rows = [
        (ids[one.id], one.code, one.kind, one.attempt, one.repository, plain(one.title, 40),
         one.decision or "waits", age(one.age))
        for one in found
    ]  # fmt: skip
    return listing(
        ("id", "held as", "kind", "attempt", "repository", "title", "decision", "age"), rows,
        empty="nothing waits for a person",
        then="fencepost unknown show ID",
    )  # fmt: skip


@command.command()
@click.argument("id_", metavar="ID")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def show(id_: str, in_full: bool) -> None:
    """Show what was tried, what the remote or the forge showed, and what may be decided."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        seen = unknown_named(tx, id_)
        story = tried(tx, seen)
    if in_full:
        return as_json({**unknown_told.in_full(seen), "tried": story})
    return unknown_told.tell(seen, story)


@command.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--decision", required=True, type=click.Choice([one.value for one in Decision]))
@click.option("--reason", required=True, help="Kept in the receipt.")
@click.option(
    "--request", "adopts", type=click.IntRange(1), metavar="N", help="The request, with `adopt`."
)
@_filters
@click.option("--all", "every", is_flag=True, help="Everything that waits.")
@click.option("--dry-run", is_flag=True, help="Say what would be decided, and change nothing.")
@click.option("--key", help="An idempotency key.")
@click.option("--json", "in_full", is_flag=True, help="A line for each, for programs.")
def resolve(
    ids: tuple[str, ...], decision: str, reason: str, adopts: int | None, every: bool,
    dry_run: bool, key: str | None, in_full: bool, **said: Any,
) -> int:  # fmt: skip
    """Decide what is held: by id, or all that a filter finds, oldest first.

    A decision proves nothing. The next claim reads everything anew, and a result that it finds
    wins. `show ID` says what may be decided, and what follows.
    """
    settings = config.read()
    with stack.opened(settings) as store:
        with store.begin() as tx:
            sought = _sought(tx, said)
            if sum((bool(ids), every, not sought.is_everything)) != 1:
                raise BadInput(
                    "which work is meant is not clear",
                    hint="name ids, or give filters, or --all: one of the three",
                )
            found = [unknown_named(tx, one) for one in ids] or unknowns_listed(
                tx, sought, limit=_MOST, oldest_first=True
            )
        word = Word(Decision(decision), reason, adopts)
        resolver = Resolver(store, acting(store, settings), word, key, is_rehearsal=dry_run)
        done = [resolver.one(seen, alone=len(ids) == 1) for seen in found]
    for one in done:
        if in_full:
            json_line(one.value())
        else:
            print(unknown_told.words(one, decision))
    if not in_full:
        print(f"next: {unknown_told.then(done, is_rehearsal=dry_run)}", file=sys.stderr)
    return resolver.exit_code(done)


def _sought(tx: Tx, said: dict[str, Any]) -> Sought:
    world = said.pop("world")
    if world is not None and world not in {one.id for one in worlds_listed(tx)}:
        world = worlds.named(tx, world)
    return Sought(world=world, **said)
