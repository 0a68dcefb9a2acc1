"""The revision of a database's schema, and those that this code knows.

Every process asks at its start, so nothing here loads what upgrades need.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, text

from app.domain.errors import DatabaseUnfit

_VERSIONS = Path(__file__).parent / "migrations" / "versions"


def current(connection: Connection) -> str | None:
    """The revision of this database, or None where there is no schema of ours."""
    table = connection.execute(text("select to_regclass('fencepost.alembic_version')")).scalar()
    if table is None:
        return None
    found: str | None = connection.execute(
        text("select version_num from fencepost.alembic_version")
    ).scalar()
    return found


def known() -> list[str]:
    """Every revision, in their order; each file begins with the name of its own."""
    return sorted(file.name.partition("_")[0] for file in _VERSIONS.glob("[0-9]*_*.py"))


def head() -> str:
    """The revision that this code expects."""
    return known()[-1]


def is_newer(revision: str | None) -> bool:
    """Whether a database was made by a newer Fencepost: this one does not know its revision."""
    return revision is not None and revision not in known()


def refuse_newer(revision: str | None) -> None:
    """Raise DatabaseUnfit for a schema that only a newer Fencepost understands."""
    if is_newer(revision):
        raise DatabaseUnfit(
            f"the database is newer than this program: its schema is at {revision}, "
            f"this program ends at {head()}",
            hint="install the Fencepost that brought it there, or a newer one",
        )
