"""`fencepost worlds`."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.acting import allowed
from app.cli.shown import age, as_json, listing
from app.store.views.listing import worlds_listed
from app.store.worlds import named
from app.transitions.set_world import set_world


@click.group()
def command() -> None:
    """List worlds, and declare their settings."""


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


@command.command(name="set")
@click.argument("name")
@click.option(
    "--like-ready",
    required=True,
    metavar="COLUMNS",
    help="Columns from which tasks run as from ready: inbox, review; an empty text: none.",
)
@click.option("--reason", required=True, help="Why; it is kept.")
@click.option("--key", help="Asking again under this key does nothing twice.")
def set_(name: str, like_ready: str, reason: str, key: str | None) -> None:
    """Declare what a world's board means."""
    settings = config.read()
    columns = [column.strip() for column in like_ready.split(",") if column.strip()]
    with stack.opened(settings) as store:
        with store.begin() as tx:
            world = named(tx, name)
        actor = allowed(store, settings, "set_world", world)
        set_world(store, world, actor, {"like_ready": columns}, reason, key=key)
    print(f"{name}: like ready: {', '.join(columns) or 'none'}")
