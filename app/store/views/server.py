"""What a database says of itself and of the login that asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from app.store.engine import Tx
from app.store.footing import OLDEST, Login
from app.store.revision import current


@dataclass(frozen=True, slots=True)
class ServerSeen:
    """A database server, as one login sees it."""

    version: str
    is_supported: bool
    revision: str | None  #: of the schema; None: there is none
    at: datetime  #: the database's wall clock
    login: str
    part: Login | None  #: that this login may play; None: none at all


def server_seen(tx: Tx) -> ServerSeen:
    """The server and the login, whatever the schema is."""
    row = tx.execute(
        text(
            "select split_part(current_setting('server_version'), ' ', 1) as version,"
            " current_setting('server_version_num')::int as number,"
            " clock_timestamp() as at, current_user as login,"
            " has_database_privilege(current_database(), 'create') as owner,"
            " pg_has_role(current_user, to_regrole('fencepost_app'), 'usage') as app,"
            " pg_has_role(current_user, to_regrole('fencepost_worker'), 'usage') as worker"
        )
    ).one()
    parts = ((row.owner, Login.OWNER), (row.app, Login.APP), (row.worker, Login.WORKER))
    part = next((part for may, part in parts if may), None)
    return ServerSeen(row.version, row.number >= OLDEST, current(tx), row.at, row.login, part)
