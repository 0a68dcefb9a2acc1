"""`fencepost tasks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from app import config
from app.cli import stack
from app.cli.asked import asked
from app.cli.base import base_of
from app.cli.shown import age, as_json, listing, plain, short
from app.cli.task_told import tell
from app.domain.board import Column
from app.store.views.finding import find
from app.store.views.listing import tasks_listed
from app.store.views.task import task_seen
from app.transitions.add_child import add_child as add_child_to
from app.transitions.dispatch import dispatch as dispatch_task
from app.transitions.move import move as move_task
from app.transitions.retry import retry as retry_task

_Decorated = Callable[..., Any]


@click.group()
def command() -> None:
    """List, show, move, add, dispatch and retry tasks."""


def _verb(function: _Decorated) -> _Decorated:
    """The options of every verb that changes a task."""
    key = click.option("--key", help="Asking again under this key does nothing twice.")
    in_full = click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
    return key(in_full(function))


@command.command(name="list")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(in_full: bool) -> None:
    """List the newest tasks."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        found = tasks_listed(tx)
    if in_full:
        return as_json(found)
    ids = short([one.id for one in found])
    orders = short([one.work_order for one in found])
    rows = [
        (ids[one.id], one.column, plain(one.title, 50), orders[one.work_order], one.attempts,
         age(one.age))
        for one in found
    ]  # fmt: skip
    return listing(
        ("id", "column", "title", "work order", "attempts", "age"), rows,
        empty="no task yet; `fencepost run -- COMMAND` makes one",
        then="fencepost tasks show ID, or fencepost explain ID",
    )  # fmt: skip


@command.command()
@click.argument("task")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def show(task: str, in_full: bool) -> None:
    """Show a task: its card, its children and attempts, and everything that was done to it."""
    with asked("task", task, "look") as one, one.store.begin() as tx:
        seen = task_seen(tx, one.world, one.id)
    return as_json(seen) if in_full else tell(seen)


@command.command()
@click.argument("task")
@click.argument("column", type=click.Choice([column.value for column in Column]))
@click.option("--reason", required=True, help="Why; it is kept.")
@_verb
def move(task: str, column: str, reason: str, key: str | None, in_full: bool) -> None:
    """Hang a card in another column."""
    with asked("task", task, "move") as one:
        move_task(one.store, one.world, one.actor, one.id, Column(column), reason, key=key)
    _done({"task": one.id, "column": column}, f"tasks show {one.id}", in_full=in_full)


@command.command(name="add-child")
@click.argument("parent")
@click.option("--title", help="Else its parent's.")
@click.option("--canonical", is_flag=True, help="From now on this one runs, not its parent.")
@click.option("--reason", help="Why; it is kept.")
@_verb
def add_child(
    parent: str, title: str | None, canonical: bool, reason: str | None, key: str | None,
    in_full: bool,
) -> None:  # fmt: skip
    """Add a child to a task: a card of the same work order, in the inbox."""
    with asked("task", parent, "add_child") as one:
        child = add_child_to(
            one.store, one.world, one.actor, one.id, title, reason, canonical=canonical, key=key
        )
    then = f"tasks move {child} ready --reason WHY"
    _done({"task": child, "parent": one.id}, then, in_full=in_full)


@command.command()
@click.argument("task")
@click.option("--work-order", help="Refuse a task of another one.")
@click.option("--reason", help="Why; it is kept.")
@_verb
def dispatch(
    task: str, work_order: str | None, reason: str | None, key: str | None, in_full: bool
) -> None:
    """Begin a task's first attempt, from its base's newest commit."""
    with asked("task", task, "dispatch") as one:
        if work_order is not None:
            with one.store.begin() as tx:
                work_order = find(tx, work_order, "work order").id
        base = base_of(one.store, one.home, one.world, one.id)
        attempt = dispatch_task(
            one.store, one.world, one.actor, one.id, base, reason, work_order=work_order, key=key
        )
    _done({"attempt": attempt, "task": one.id}, f"logs {attempt} --follow", in_full=in_full)


@command.command()
@click.argument("task")
@click.option("--reason", required=True, help="Why it may succeed now; ten characters or more.")
@_verb
def retry(task: str, reason: str, key: str | None, in_full: bool) -> None:
    """Begin another attempt of a task whose latest one failed."""
    with asked("task", task, "retry") as one:
        base = base_of(one.store, one.home, one.world, one.id)
        attempt = retry_task(one.store, one.world, one.actor, one.id, base, reason, key=key)
    _done({"attempt": attempt, "task": one.id}, f"logs {attempt} --follow", in_full=in_full)


def _done(made: dict[str, str], then: str, *, in_full: bool) -> None:
    if in_full:
        return as_json(made)
    print(next(iter(made.values())))
    return click.echo(f"next: fencepost {then}", err=True)
