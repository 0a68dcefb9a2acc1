"""`fencepost tasks`."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.shown import age, as_json, listing, plain, short
from app.store.views.listing import tasks_listed


@click.group()
def command() -> None:
    """List tasks."""


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
        then="fencepost explain ID",
    )  # fmt: skip
