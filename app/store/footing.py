"""What a process stands on: server version, schema revision, and its own login (Q15)."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import text

from app.domain.errors import DatabaseUnfit
from app.store import revision
from app.store.engine import Store, Tx

OLDEST = 150000


class Login(StrEnum):
    """The part that a login plays."""

    OWNER = "owner"
    APP = "fencepost_app"
    WORKER = "fencepost_worker"


def check(store: Store, login: Login) -> None:
    """Raise DatabaseUnreachable or DatabaseUnfit unless this process may work with the database."""
    with store.begin() as tx:
        version = int(tx.execute(text("show server_version_num")).scalar_one())
        if version < OLDEST:
            raise DatabaseUnfit(f"Postgres {version // 10000} is too old", hint="use 15 or newer")
        _check_revision(tx)
        _check_login(tx, login)
        _check_settings(tx)


def _check_revision(tx: Tx) -> None:
    found = revision.current(tx)
    revision.refuse_newer(found)
    if found != revision.head():
        raise DatabaseUnfit(
            f"the schema is at {found or 'nothing'}, this code expects {revision.head()}",
            hint="run `fencepost database upgrade` with the owner's URL",
        )


def _check_login(tx: Tx, login: Login) -> None:
    row = tx.execute(
        text(
            "select current_user as name, rolsuper as super,"
            " exists (select from pg_tables where schemaname = 'fencepost'"
            "   and pg_has_role(current_user, tableowner, 'usage')) as owns,"
            " pg_has_role(current_user, 'fencepost_app', 'usage') as app,"
            " pg_has_role(current_user, 'fencepost_worker', 'usage') as worker"
            " from pg_roles where rolname = current_user"
        )
    ).one()
    if login is Login.OWNER:
        return
    too_much = row.super or row.owns or (login is Login.WORKER and row.app)
    fits = row.worker if login is Login.WORKER else row.app
    if too_much or not fits:
        own = ", or start a stack with this one: `fencepost up`" if row.owns else ""
        raise DatabaseUnfit(
            f"{row.name} is not a login for this role"
            + (": it owns tables, is a superuser, or may do more" if too_much else ""),
            hint=f"give this process the URL of {login}{own}",
        )


def _check_settings(tx: Tx) -> None:
    isolation = tx.execute(text("show transaction_isolation")).scalar_one()
    idle = tx.execute(
        text(
            "select setting::bigint from pg_settings"
            " where name = 'idle_in_transaction_session_timeout'"
        )
    ).scalar_one()
    if isolation != "read committed" or not 0 < idle <= 60000:
        raise DatabaseUnfit(
            "this session does not keep the isolation and timeouts it was given",
            hint="connect directly, or through a pooler that keeps session settings",
        )
