"""Replays of dead letters (Q05)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add them."""
    script.run(op.get_bind(), "0004_replays")
