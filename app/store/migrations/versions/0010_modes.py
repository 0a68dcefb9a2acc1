"""Starts say where their fence is kept (PROTOCOL §7, L4)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Let a start stand on a mark at the remote, or on the database alone."""
    script.run(op.get_bind(), "0010_modes")
