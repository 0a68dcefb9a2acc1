"""Running a file of SQL in a migration."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

_FOLDER = Path(__file__).with_name("migrations") / "sql"


def run(connection: Connection, *names: str) -> None:
    """Run these files whole, in order; a percent sign in them is just that."""
    cursor = connection.connection.cursor()
    for name in names:
        cursor.execute((_FOLDER / f"{name}.sql").read_text("utf-8"))
