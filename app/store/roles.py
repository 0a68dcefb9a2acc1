"""The roles behind the fence, and the SQL that makes them.

Three logins and one role without: the owner migrates, `fencepost_app` decides, `fencepost_worker`
acts, `fencepost_fence` owns the trigger and the functions (PROTOCOL §1).
"""

from __future__ import annotations

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

LESSER = ("fencepost_app", "fencepost_worker")
DEFINER = "fencepost_fence"


def sql_for(owner: str, database: str) -> str:
    """What a database administrator runs once, where the owner may not create roles."""
    owner, database = _quoted(owner), _quoted(database)
    return "\n".join(
        [
            f"create role {DEFINER} nologin;",
            *(f"create role {name} login;  -- then: \\password {name}" for name in LESSER),
            f"grant {DEFINER} to {owner};",
            f"revoke all on database {database} from public;",
            f"grant connect on database {database} to {', '.join(LESSER)};",
            f"grant create on database {database} to {owner};",
        ]
    )


def missing(connection: Connection) -> list[str]:
    """Which of the roles this cluster lacks."""
    names = [DEFINER, *LESSER]
    found = connection.execute(
        text("select rolname from pg_roles where rolname = any(:names)"), {"names": names}
    ).scalars()
    return sorted(set(names) - set(found))


def may_create(connection: Connection) -> bool:
    """Whether this login may create roles."""
    answer = connection.execute(
        text("select rolcreaterole or rolsuper from pg_roles where rolname = current_user")
    )
    return bool(answer.scalar_one())


def create_missing(connection: Connection) -> None:
    """Make the missing roles, without passwords.

    They belong to the whole server: another database's upgrade may make them at the same time.
    """
    for name in missing(connection):
        try:
            with connection.begin_nested():
                _create(connection, name)
        except DBAPIError:
            if name in missing(connection):
                raise


def keep_others_out(connection: Connection) -> None:
    """Only our logins may connect to this database, and none may make temporary tables."""
    database = _quoted(str(connection.execute(text("select current_database()")).scalar_one()))
    connection.exec_driver_sql(f"revoke all on database {database} from public")
    connection.exec_driver_sql(f"grant connect on database {database} to {', '.join(LESSER)}")


def set_password(connection: Connection, role: str, password: str) -> None:
    """Give a login its password (as a scram verifier made by the server)."""
    literal = password.replace("'", "''")
    connection.exec_driver_sql(f"alter role {_quoted(role)} login password '{literal}'")


def _create(connection: Connection, name: str) -> None:
    if name in LESSER:
        connection.exec_driver_sql(f"create role {name} login")
    else:
        connection.exec_driver_sql(f"create role {name} nologin")
        connection.exec_driver_sql(f"grant {name} to current_user")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
