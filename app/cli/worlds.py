"""`fencepost worlds`."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.shown import age, as_json, listing
from app.store.views.listing import worlds_listed


@click.group()
def command() -> None:
    """List worlds."""


@command.command(name="list")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(in_full: bool) -> None:
    """List every world, newest first."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        found = worlds_listed(tx)
    if in_full:
        return as_json(found)
    rows = [(one.id, one.name, one.ticks, one.tasks, one.active, age(one.age)) for one in found]
    return listing(
        ("id", "name", "ticks", "tasks", "active", "age"), rows,
        empty="no world yet; `fencepost run -- COMMAND` makes the default one",
        then="fencepost tasks list",
    )  # fmt: skip
