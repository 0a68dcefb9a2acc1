"""`fencepost worlds`."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.acting import allowed
from app.cli.shown import age, as_json, listing
from app.domain.bounds import MOST
from app.domain.digest import Json
from app.domain.errors import BadInput
from app.store.views.listing import worlds_listed
from app.store.worlds import named
from app.transitions.set_world import set_world

_LIMIT = click.IntRange(0, MOST)


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
    metavar="COLUMNS",
    help="Columns from which tasks run as from ready: inbox, review; an empty text: none.",
)
@click.option(
    "--concurrency", metavar="N", type=_LIMIT, help="Attempts at work at once; 0: no limit."
)
@click.option(
    "--repository-concurrency", metavar="N", type=_LIMIT, help="The same in each repository."
)
@click.option("--reason", required=True, help="Why; it is kept.")
@click.option("--key", help="Asking again under this key does nothing twice.")
def set_(
    name: str, like_ready: str | None, concurrency: int | None, repository_concurrency: int | None,
    reason: str, key: str | None,
) -> None:  # fmt: skip
    """Declare what a world's board means, and how much runs in it at once."""
    settings = config.read()
    wanted: dict[str, Json] = {}
    if like_ready is not None:
        wanted["like_ready"] = [one.strip() for one in like_ready.split(",") if one.strip()]
    for setting, limit in (
        ("concurrency", concurrency), ("repository_concurrency", repository_concurrency),
    ):  # fmt: skip
        if limit is not None:
            wanted[setting] = limit or None
    if not wanted:
        raise BadInput("nothing to declare", hint="see `fencepost worlds set --help`")
    with stack.opened(settings) as store:
        with store.begin() as tx:
            world = named(tx, name)
        actor = allowed(store, settings, "set_world", world)
        set_world(store, world, actor, wanted, reason, key=key)
    for setting, value in wanted.items():
        told = ", ".join(map(str, value)) if isinstance(value, list) else value
        print(f"{name}: {setting.replace('_', ' ')}: {told or 'none'}")
