"""`fencepost gates`: what waits for a person."""

from __future__ import annotations

import click

from app import config
from app.cli import stack
from app.cli.acting import allowed
from app.cli.shown import age, as_json, listing, plain, short
from app.domain.identity import WorldId
from app.store.views.finding import find
from app.store.views.gates import gates_listed
from app.transitions.decide import decide


@click.group()
def command() -> None:
    """List and decide the gates of workflows."""


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Those too that are decided.")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(every: bool, in_full: bool) -> None:
    """List the gates that wait for a decision."""
    with stack.opened(config.read()) as store, store.begin() as tx:
        found = gates_listed(tx, is_open=not every)
    if in_full:
        return as_json(found)
    ids = short([one.attempt for one in found])
    rows = [
        (ids[one.attempt], one.name, one.decision or "waits", plain(one.title, 40), age(one.age))
        for one in found
    ]
    return listing(
        ("attempt", "gate", "decision", "title", "age"), rows,
        empty="no gate waits for anybody",
        then="fencepost gates approve ATTEMPT GATE --reason WHY, or reject",
    )  # fmt: skip


@command.command()
@click.argument("attempt")
@click.argument("gate")
@click.option("--reason", required=True, help="Kept in the receipt.")
@click.option("--key", help="An idempotency key.")
def approve(attempt: str, gate: str, reason: str, key: str | None) -> None:
    """Let the workflow go on."""
    _decide(attempt, gate, reason, key, approved=True)


@command.command()
@click.argument("attempt")
@click.argument("gate")
@click.option("--reason", required=True, help="Kept in the receipt.")
@click.option("--key", help="An idempotency key.")
def reject(attempt: str, gate: str, reason: str, key: str | None) -> None:
    """End the attempt as failed at this gate."""
    _decide(attempt, gate, reason, key, approved=False)


def _decide(attempt: str, gate: str, reason: str, key: str | None, *, approved: bool) -> None:
    settings = config.read()
    with stack.opened(settings) as store:
        with store.begin() as tx:
            found = find(tx, attempt, "attempt")
        actor = allowed(store, settings, "decide", found.world)
        world = WorldId(found.world)
        decide(store, world, actor, found.id, gate, reason, approved=approved, key=key)
    print(f"{gate} of {found.id}: {'approved' if approved else 'rejected'}")
    print(f"next: fencepost attempts show {found.id}")
