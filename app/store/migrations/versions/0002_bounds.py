"""Bounds on what runs at once (O08)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the writers of a base, and what a step waits for."""
    script.run(op.get_bind(), "0002_bounds")
