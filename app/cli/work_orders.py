"""`fencepost work-orders`."""

from __future__ import annotations

import sys

import click

from app import config
from app.cli import stack
from app.cli.acting import acting, default_world
from app.cli.shown import age, as_json, listing, plain, short
from app.cli.work_order_asked import asked, changes, done, why
from app.cli.work_order_file import from_file
from app.cli.work_order_told import tell, then
from app.cli.work_order_verbs import VERBS
from app.domain.authority import require
from app.domain.errors import BadInput
from app.intake.schema import rendered
from app.store import board
from app.store.views.listing import work_orders_listed
from app.store.views.work_order import work_order_seen
from app.transitions.add_repository import add_repository
from app.transitions.draft import draft
from app.transitions.revise import revise as revise_order


@click.group()
def command() -> None:
    """Create, submit, approve, dispatch and show work orders."""


@command.command()
@click.argument("file", metavar="FILE")
@why()
@changes
def create(file: str, reason: str | None, key: str | None, in_full: bool) -> None:
    """Write the draft that a YAML or JSON file asks for, and the task that will carry it out.

    `-` reads standard input. Nothing is approved and nothing runs.
    """
    order, settings = from_file(file), config.read()
    with stack.opened(settings) as store:
        principal = acting(store, settings)
        world = default_world(store, principal)
        for verb in ("add_repository", "draft"):
            require(principal, verb, world)
        source = order.source
        known = add_repository(store, world, principal.id, source.name, source.url, source.forge)
        new = draft(
            store, world, principal.id, known.id, order.specification, reason=reason, key=key
        )
        done(store, world, new.work_order, in_full=in_full)


@command.command()
@click.argument("work_order")
@click.argument("file", metavar="FILE")
@why()
@changes
def revise(work_order: str, file: str, reason: str | None, key: str | None, in_full: bool) -> None:
    """Let a work order say what a file says; it is a draft again, and needs a new approval."""
    order = from_file(file)
    with asked(work_order, "revise") as one:
        with one.store.begin() as tx:
            before = board.work_order(tx, one.world, one.id)
            repository = board.repository(tx, one.world, before.repository)
        if repository.url != order.source.url:
            raise BadInput(
                f"work order {one.id} is about {repository.url}, the file about {order.source.url}",
                hint="write another work order: `fencepost work-orders create FILE`",
            )
        revise_order(
            one.store, one.world, one.actor, one.id, order.specification, reason=reason, key=key
        )
        done(one.store, one.world, one.id, in_full=in_full)


@command.command(name="list")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(in_full: bool) -> None:
    """List the newest work orders."""
    settings = config.read()
    with stack.opened(settings) as store:
        principal = acting(store, settings)
        with store.begin() as tx:
            found = work_orders_listed(tx, principal.worlds)
    if in_full:
        return as_json(found)
    ids = short([one.id for one in found])
    rows = [
        (ids[one.id], one.state, plain(one.title, 50), one.repository, one.tasks, age(one.age))
        for one in found
    ]
    return listing(
        ("id", "state", "title", "repository", "tasks", "age"), rows,
        empty="no work order yet; `fencepost work-orders create FILE` writes one",
        then="fencepost work-orders show ID",
    )  # fmt: skip


@command.command()
@click.argument("work_order")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def show(work_order: str, in_full: bool) -> None:
    """Show what a work order says, how far it has come, and who said what of it."""
    with asked(work_order, "look") as one, one.store.begin() as tx:
        seen = work_order_seen(tx, one.world, one.id)
    if in_full:
        return as_json(seen)
    tell(seen)
    return print(f"next: fencepost {then(seen)}", file=sys.stderr)


@command.command()
def schema() -> None:
    """Print the JSON Schema of a work order file."""
    print(rendered(), end="")


for verb in VERBS:
    command.add_command(verb)
