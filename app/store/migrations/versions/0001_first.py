"""Worlds, activities, the fence, and who may do what."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything; the roles exist already (app/store/roles.py)."""
    parts = ("world", "activity", "fence", "journal", "grants")
    script.run(op.get_bind(), *(f"0001_{part}" for part in parts))
