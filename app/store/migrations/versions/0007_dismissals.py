"""Dismissals of dead letters (Q05, L7)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table of dismissals."""
    script.run(op.get_bind(), "0007_dismissals")
