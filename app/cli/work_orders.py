"""`fencepost work-orders`."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.shown import age, as_json, listing, plain, short
from app.store.views.listing import work_orders_listed


@click.group()
def command() -> None:
    """List work orders."""


@command.command(name="list")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(in_full: bool) -> None:
    """List the newest work orders."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        found = work_orders_listed(tx)
    if in_full:
        return as_json(found)
    ids = short([one.id for one in found])
    rows = [
        (ids[one.id], one.state, plain(one.title, 50), one.repository, one.tasks, age(one.age))
        for one in found
    ]
    return listing(
        ("id", "state", "title", "repository", "tasks", "age"), rows,
        empty="no work order yet; `fencepost run -- COMMAND` writes one",
        then="fencepost explain ID",
    )  # fmt: skip
