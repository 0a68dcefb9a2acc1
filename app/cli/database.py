"""`fencepost database`."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from app import config
from app.cli import logins, stack, tenancy
from app.config import Settings
from app.store import revision, roles
from app.store.engine import open_store


@click.group()
def command() -> None:
    """Bring the database up to date, or say what it needs."""


@command.command()
def upgrade() -> None:
    """Bring the schema to what this version expects.

    It needs the owner's URL, or the embedded servers.
    """
    settings = config.read()
    if settings.database_url:
        reached = logins.upgrade(settings.database_url)
    else:
        with tenancy.embedded(settings.home) as addresses:
            reached = logins.upgrade(addresses.owner_url)
    print(f"the schema is at {reached}; next: fencepost up")


@command.command()
def current() -> None:
    """Say which revision the database has, and which one this version expects."""
    with stack.joined(config.read()) as found:
        store = open_store(found.app_url, name="fencepost-cli", connections=1)
        with store.begin() as tx:
            seen = revision.current(tx)
        store.close()
    wanted = revision.head()
    print(f"database: {seen or 'nothing yet'}")
    print(f"expected: {wanted}")
    if revision.is_newer(seen):
        print("the database is newer than this program; next: install the newer Fencepost")
    else:
        print("next: fencepost " + ("status" if seen == wanted else "database upgrade"))


@command.command(name="roles")
def roles_() -> None:
    """Print the SQL for an administrator, where the owner may not create roles."""
    owner, database = _names(config.read())
    print(roles.sql_for(owner, database))


def _names(settings: Settings) -> tuple[str, str]:
    """Owner and database as the URL has them, else the usual ones."""
    parts = urlsplit(settings.database_url or "")
    return parts.username or "fencepost_owner", parts.path.strip("/") or "fencepost"
