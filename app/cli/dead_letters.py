"""`fencepost dead-letters`: what could not be worked on, its replay and its dismissal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from app import config
from app.cli import dismissing, letter_told, stack
from app.cli.acting import acting
from app.cli.duration import Duration
from app.cli.replaying import One, Rate, Run, batch_of
from app.cli.shown import age, as_json, json_line, listing, plain
from app.domain.dead_letter import LetterCause
from app.domain.errors import BadInput, NotFound
from app.store import dead_letters, worlds
from app.store.engine import Tx
from app.store.views.dead_letters import Sought, letters_counted, letters_listed
from app.store.views.letter import letter_seen
from app.store.views.listing import worlds_listed
from app.transitions.replay import Asked

_Decorated = Callable[..., Any]

_AGE = Duration(timedelta(days=3650))


@click.group()
def command() -> None:
    """List, show, replay and dismiss dead letters: messages and work that nobody could do."""


def _filters(function: _Decorated) -> _Decorated:
    """The options that say which letters are meant."""
    for option in (
        click.option("--text", metavar="WORDS", help="In detail, ids, title or message."),
        click.option("--older-than", type=_AGE, metavar="AGE", help="Kept longer ago: 1d."),
        click.option("--since", type=_AGE, metavar="AGE", help="Kept within this time: 2h."),
        click.option("--cause", type=click.Choice([cause.value for cause in LetterCause])),
        click.option("--kind", help="Of the activity, or the queue of the message."),
        click.option("--world", metavar="NAME", help="Of activities; messages have none."),
    ):
        function = option(function)
    return function


@command.command(name="list")
@_filters
@click.option("--all", "every", is_flag=True, help="Those too that were replayed or dismissed.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=200, show_default=True)
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(every: bool, limit: int, in_full: bool, **said: Any) -> None:
    """List the newest letters that nobody has replayed or dismissed."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        sought = _sought(tx, said, is_open=not every)
        found = letters_listed(tx, sought, limit)
        count = letters_counted(tx, sought)
    if in_full:
        return as_json(found)
    rows = [
        (one.id, one.cause, one.kind, one.attempt or "", plain(one.title or one.detail, 40),
         one.came or "", age(one.age))
        for one in found
    ]  # fmt: skip
    if count > len(found):
        print(f"the newest {len(found)} of {count}", file=sys.stderr)
    return listing(
        ("id", "cause", "kind", "attempt", "what", "came to", "age"), rows,
        empty="no dead letter" if every else "no dead letter is open; --all shows the others",
        then="fencepost dead-letters show ID",
    )  # fmt: skip


@command.command()
@click.argument("letter", type=click.IntRange(1))
@click.option("--bytes", "raw", is_flag=True, help="The message itself, as it was kept.")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def show(letter: int, raw: bool, in_full: bool) -> None:
    """Show a letter: why it is dead, what it is about, and what came of it."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        seen = letter_seen(tx, letter)
        message = dead_letters.get(tx, letter).bytes
    if raw:
        if message is None:
            raise NotFound(f"dead letter {letter} is of an activity, and holds no message")
        sys.stdout.buffer.write(message)
        return None
    if in_full:
        return as_json(letter_told.in_full(seen, message))
    return letter_told.tell(seen, message)


@command.command()
@click.argument("letters", type=click.IntRange(1), nargs=-1, metavar="[ID]...")
@_filters
@click.option("--all", "every", is_flag=True, help="Every letter that is open.")
@click.option("--reason", required=True, help="Why it may succeed now; ten characters or more.")
@click.option("--rate", type=Rate(), default=0.0, metavar="N/s", help="At most so many: 5/s.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--batch", help="Its name; without one, the same command has the same.")
@click.option("--json", "in_full", is_flag=True, help="A line for each letter, for programs.")
def replay(
    letters: tuple[int, ...], every: bool, reason: str, rate: float, dry_run: bool,
    batch: str | None, in_full: bool, **said: Any,
) -> int:  # fmt: skip
    """Replay letters, each once: by their ids, or all that a filter finds, oldest first.

    Dead work gets another attempt of its task, a message another delivery. Asked again after a
    crash, the same command goes on where it was, and nothing is replayed twice.
    """
    settings = config.read()
    with stack.opened(settings) as store:
        with store.begin() as tx:
            sought = _sought(tx, said)
        _check_clear(letters, sought, every=every)
        principal = acting(store, settings)
        name = batch or batch_of(principal.id, reason, sought, every, sorted(letters))
        asked = Asked(principal.id, reason, name, is_rehearsal=dry_run)
        run = Run(store, settings.home, principal, asked, rate)
        tally = run.tally()
        chosen = iter(letters) if letters else run.sought(sought)
        run.of(chosen, tally, _say_line if in_full else letter_told.say)
    if in_full:
        json_line({"batch": name, "dry_run": dry_run, "before": tally.before,
                   "replayed": tally.replayed, "again": tally.again,
                   "refused": dict(tally.refused)})  # fmt: skip
    else:
        letter_told.sum_up(tally, is_rehearsal=dry_run)
    return tally.exit_code


@command.command()
@click.argument("letters", type=click.IntRange(1), nargs=-1, metavar="[ID]...")
@_filters
@click.option("--all", "every", is_flag=True, help="Every letter that is open.")
@click.option("--reason", required=True, help="Why nothing will come of it; it is kept.")
@click.option("--dry-run", is_flag=True, help="Say how many there are, and change nothing.")
@click.option("--json", "in_full", is_flag=True, help="As one object, for programs.")
def dismiss(
    letters: tuple[int, ...], every: bool, reason: str, dry_run: bool, in_full: bool, **said: Any
) -> None:
    """Dismiss letters that nothing will come of: by their ids, or all that a filter finds.

    They leave the list and the counts, and stay to be read: `list --all`, `show`. A letter that
    was dismissed may still be replayed by its id.
    """
    settings = config.read()
    with stack.opened(settings) as store:
        with store.begin() as tx:
            sought = _sought(tx, said)
        _check_clear(letters, sought, every=every)
        found = dismissing.Dismissing(store, acting(store, settings), reason, is_rehearsal=dry_run)
        tally = found.of(letters) if letters else found.sought(sought)
    if in_full:
        return as_json({"dismissed": tally.dismissed, "before": tally.before, "dry_run": dry_run})
    return letter_told.dismissed(tally, is_rehearsal=dry_run)


def _check_clear(letters: tuple[int, ...], sought: Sought, *, every: bool) -> None:
    if sum((bool(letters), every, not sought.is_everything)) != 1:
        raise BadInput(
            "which letters are meant is not clear",
            hint="name ids, or give filters, or --all: one of the three",
        )


def _sought(tx: Tx, said: dict[str, Any], *, is_open: bool = False) -> Sought:
    world = said.pop("world")
    if world is not None and world not in {one.id for one in worlds_listed(tx)}:
        world = worlds.named(tx, world)
    return Sought(world=world, is_open=is_open, **said)


def _say_line(one: One) -> None:
    done = one.replay
    json_line(
        {
            "letter": one.letter, "code": one.code, "message": one.message, "new": one.is_new,
            "attempt": done.attempt if done and not one.is_rehearsal else None,
            "delivery": done.delivery if done and not one.is_rehearsal else None,
            "batch": done.batch if done else None,
        }
    )  # fmt: skip
