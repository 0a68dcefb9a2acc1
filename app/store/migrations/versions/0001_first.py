"""Worlds, activities, the fence, and who may do what."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Create everything; the roles exist already (app/store/roles.py)."""
    # the driver's own cursor: without parameters a percent sign is just that
    cursor = op.get_bind().connection.cursor()
    for part in ("world", "activity", "fence", "journal", "grants"):
        cursor.execute((_SQL / f"0001_{part}.sql").read_text())
