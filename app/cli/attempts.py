"""`fencepost attempts`."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.report import summary, tell
from app.cli.shown import age, as_json, listing, plain, short
from app.domain.identity import WorldId
from app.store.engine import Store
from app.store.views.attempt import attempt_seen
from app.store.views.finding import Found, find
from app.store.views.listing import attempts_listed
from app.transitions.cancel import cancel as cancel_attempt
from app.transitions.change import LOCAL


@click.group()
def command() -> None:
    """List, show and cancel attempts."""


@command.command(name="list")
@click.option("--active", is_flag=True, help="Those alone that have not ended.")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(active: bool, in_full: bool) -> None:
    """List the newest attempts."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        found = attempts_listed(tx, active=active)
    if in_full:
        return as_json(found)
    ids = short([one.id for one in found])
    tasks = short([one.task for one in found])
    rows = [
        (ids[one.id], one.state, one.number, plain(one.title, 40), one.repository, one.step,
         tasks[one.task], age(one.age))
        for one in found
    ]  # fmt: skip
    return listing(
        ("id", "state", "number", "title", "repository", "step", "task", "age"), rows,
        empty="no attempt yet; `fencepost run -- COMMAND` makes one",
        then="fencepost attempts show ID, or fencepost explain ID",
    )  # fmt: skip


@command.command()
@click.argument("attempt")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def show(attempt: str, in_full: bool) -> None:
    """Show how an attempt stands, or how it ended."""
    settings = config.read()
    with stack.opened(settings) as store:
        found = _found(store, attempt)
        if in_full:
            return as_json(summary(store, settings.home, found.world, found.id))
        return tell(summary(store, settings.home, found.world, found.id))


@command.command()
@click.argument("attempt")
@click.option("--reason", default="asked for at the command line")
def cancel(attempt: str, reason: str) -> None:
    """Ask that nothing of an attempt starts any more; what runs is ended and closed."""
    with stack.opened(config.read()) as store:
        found = _found(store, attempt)
        cancel_attempt(store, WorldId(found.world), LOCAL, found.id, reason)
        with store.begin() as tx:
            seen = attempt_seen(tx, found.world, found.id)
    how = f"it ended: {seen.outcome}" if seen.ended_at else "a worker closes it"
    print(f"asked {found.id} to stop; {how}")
    print(f"next: fencepost attempts show {found.id}")


def _found(store: Store, prefix: str) -> Found:
    with store.begin() as tx:
        return find(tx, prefix, "attempt")
