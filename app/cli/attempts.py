"""`fencepost attempts`."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.asked import asked
from app.cli.base import base_of
from app.cli.report import summary, tell
from app.cli.shown import age, as_json, listing, plain, short
from app.store.engine import Store
from app.store.views.attempt import attempt_seen
from app.store.views.finding import Found, find
from app.store.views.listing import attempts_listed
from app.transitions.cancel import cancel as cancel_attempt
from app.transitions.pause import pause as pause_attempt
from app.transitions.pause import resume as resume_attempt
from app.transitions.retry import retry as retry_task


@click.group()
def command() -> None:
    """List, show, cancel, pause, resume and retry attempts."""


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
    with asked("attempt", attempt, "cancel") as one:
        cancel_attempt(one.store, one.world, one.actor, one.id, reason)
        with one.store.begin() as tx:
            seen = attempt_seen(tx, one.world, one.id)
    how = f"it ended: {seen.outcome}" if seen.ended_at else "a worker closes it"
    print(f"asked {one.id} to stop; {how}")
    print(f"next: fencepost attempts show {one.id}")


@command.command()
@click.argument("attempt")
@click.option("--reason", required=True, help="Why it may succeed now; ten characters or more.")
@click.option("--key", help="Asking again under this key does nothing twice.")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def retry(attempt: str, reason: str, key: str | None, in_full: bool) -> None:
    """Begin another attempt of the task whose latest attempt, this one, failed."""
    with asked("attempt", attempt, "retry") as one:
        with one.store.begin() as tx:
            task = attempt_seen(tx, one.world, one.id).task
        base = base_of(one.store, one.home, one.world, task)
        new = retry_task(
            one.store, one.world, one.actor, task, base, reason, attempt=one.id, key=key
        )
    if in_full:
        return as_json({"attempt": new, "task": task})
    print(new)
    return click.echo(f"next: fencepost logs {new} --follow", err=True)


@command.command()
@click.argument("attempt")
@click.option("--reason", required=True, help="Kept in the receipt.")
@click.option("--key", help="Asking again under this key does nothing twice.")
def pause(attempt: str, reason: str, key: str | None) -> None:
    """Start no further step of an attempt; what runs goes on."""
    with asked("attempt", attempt, "pause") as one:
        pause_attempt(one.store, one.world, one.actor, one.id, reason, key=key)
    print(f"paused {one.id}")
    print(f"next: fencepost attempts resume {one.id} --reason WHY")


@command.command()
@click.argument("attempt")
@click.option("--reason", required=True, help="Kept in the receipt.")
@click.option("--key", help="Asking again under this key does nothing twice.")
def resume(attempt: str, reason: str, key: str | None) -> None:
    """Let a paused attempt go on."""
    with asked("attempt", attempt, "resume") as one:
        resume_attempt(one.store, one.world, one.actor, one.id, reason, key=key)
    print(f"resumed {one.id}")
    print(f"next: fencepost attempts show {one.id}")


def _found(store: Store, prefix: str) -> Found:
    with store.begin() as tx:
        return find(tx, prefix, "attempt")
