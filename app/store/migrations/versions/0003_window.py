"""Limits and pauses of queues (Q02)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add them."""
    script.run(op.get_bind(), "0003_window")
