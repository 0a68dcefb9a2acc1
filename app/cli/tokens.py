"""`fencepost tokens`."""

from __future__ import annotations

import sys

import click

from app import config
from app.cli import stack
from app.cli.acting import allowed
from app.cli.shown import as_json, listing
from app.domain.authority import Scope
from app.store import principals
from app.transitions.create_token import create_token
from app.transitions.revoke_token import revoke_token


@click.group()
def command() -> None:
    """Create, list and revoke the tokens by which others may ask."""


@command.command()
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, required=True,
              type=click.Choice([scope.value for scope in Scope]))  # fmt: skip
@click.option("--world", "names", multiple=True, help="Bound to this world; else to none.")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def create(name: str, scopes: tuple[str, ...], names: tuple[str, ...], in_full: bool) -> None:
    """Make a principal of this name and print its token, this once."""
    settings = config.read()
    with stack.opened(settings) as store:
        allowed(store, settings, "create_token")
        new = create_token(store, name, [Scope(one) for one in scopes], names or None)
    if in_full:
        return as_json({"principal": new.principal.id, "name": name, "token": new.secret})
    print(new.secret)
    print("it is not shown again; only its hash is kept", file=sys.stderr)
    return print("next: FENCEPOST_TOKEN=… fencepost status", file=sys.stderr)


@command.command(name="list")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(in_full: bool) -> None:
    """List every principal, newest first."""
    settings = config.read()
    with stack.opened(settings) as store:
        allowed(store, settings, "list_tokens")
        with store.begin() as tx:
            found = principals.listed(tx)
    if in_full:
        return as_json(found)
    rows = [
        (one.name, " ".join(one.scopes) or "none",
         "every" if one.worlds is None else " ".join(one.worlds),
         f"{one.created_at:%F}", f"{one.revoked_at:%F}" if one.revoked_at else "")
        for one in found
    ]  # fmt: skip
    return listing(
        ("name", "scopes", "worlds", "created", "revoked"), rows,
        empty="no principal", then="fencepost tokens create NAME --scope SCOPE",
    )  # fmt: skip


@command.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Let the token of a principal open nothing any more; what it did stays."""
    settings = config.read()
    with stack.opened(settings) as store:
        allowed(store, settings, "revoke_token")
        revoke_token(store, name)
    print(f"the token of {name} opens nothing any more")
    print("next: fencepost tokens list", file=sys.stderr)
