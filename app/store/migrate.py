"""Bringing a database to the schema that this code expects."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from app.domain.errors import DatabaseUnfit
from app.store import roles
from app.store.engine import translated
from app.store.revision import current, head, refuse_newer

SCRIPTS = Path(__file__).with_name("migrations")


def upgrade(owner: Engine) -> str:
    """Create what is missing, roles included, and return the revision; repeating it is harmless.

    A login that may not create roles while some are missing is DatabaseUnfit, as is one that does
    not own the database; a server that does not answer is DatabaseUnreachable.
    """
    try:
        with owner.begin() as connection:
            _upgrade(connection)
    except DBAPIError as fault:
        raise translated(fault) from fault
    return head()


def _upgrade(connection: Connection) -> None:
    connection.execute(text("select pg_advisory_xact_lock(hashtext('fencepost migrate'))"))
    _refuse_old_servers(connection)
    refuse_newer(current(connection))
    absent = roles.missing(connection)
    if absent and not roles.may_create(connection):
        raise DatabaseUnfit(
            f"roles are missing: {', '.join(absent)}",
            hint="run the SQL that `fencepost database roles` prints, as an administrator",
        )
    roles.create_missing(connection)
    roles.keep_others_out(connection)
    connection.exec_driver_sql("create schema if not exists fencepost")
    _bring_to_head(connection)


def _bring_to_head(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _refuse_old_servers(connection: Connection) -> None:
    version = int(connection.execute(text("show server_version_num")).scalar_one())
    if version < 150000:
        raise DatabaseUnfit(
            f"Postgres {version // 10000} is too old", hint="use Postgres 15 or newer"
        )
