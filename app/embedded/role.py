"""The database's logins and the one database, made by the superuser at the first start.

Owner, control plane and workers each have a login; `fencepost_fence` has none. All but the owner
are made in the owner's name, so that it may administer them, as it does where no superuser helps.
"""

from __future__ import annotations

from psycopg import Connection, sql

from app.embedded.password import Passwords

DATABASE = "fencepost"
OWNER = "fencepost_owner"
APP = "fencepost_app"
WORKER = "fencepost_worker"
FENCE = "fencepost_fence"

_LOCK = 0x66656E6365  #: the advisory lock of those who make roles and database


def ensure(connection: Connection, passwords: Passwords) -> None:
    """Make the roles, all or none, then the database; what is already there is kept."""
    # A starter that was killed leaves a statement running; its backend holds this lock to the end.
    connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    if exists(connection, "pg_database", "datname", DATABASE):
        return
    if not exists(connection, "pg_roles", "rolname", OWNER):
        with connection.transaction():
            login(connection, OWNER, passwords.owner, "CREATEROLE")
            connection.execute(format_names("SET LOCAL ROLE {}", OWNER))
            login(connection, APP, passwords.app, "")
            login(connection, WORKER, passwords.worker, "")
            connection.execute(format_names("CREATE ROLE {} NOLOGIN", FENCE))
            connection.execute(format_names("GRANT {} TO {} WITH INHERIT TRUE", FENCE, OWNER))
            connection.execute("RESET ROLE")
            # Nobody but the superuser has any business in the two databases of the cluster itself.
            connection.execute("REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC")
    connection.execute(format_names("CREATE DATABASE {} OWNER {}", DATABASE, OWNER))


def exists(connection: Connection, catalog: str, column: str, name: str) -> bool:
    """Whether a catalog of the cluster has a row of this name."""
    query = format_names("SELECT FROM {} WHERE {} = %s", catalog, column)
    return connection.execute(query, (name,)).fetchone() is not None


def login(connection: Connection, name: str, password: str, right: str) -> None:
    """Make a login; only the verifier travels, for a failing statement is written to the log."""
    verifier = connection.pgconn.encrypt_password(
        password.encode(), name.encode(), b"scram-sha-256"
    ).decode()
    statement = sql.SQL("CREATE ROLE {} LOGIN {} PASSWORD {}")
    right_of = sql.SQL("CREATEROLE" if right else "")
    connection.execute(statement.format(sql.Identifier(name), right_of, sql.Literal(verifier)))


def format_names(statement: str, *names: str) -> sql.Composed:
    """A statement with its names quoted."""
    return sql.SQL(statement).format(*map(sql.Identifier, names))
