"""Decisions of what is held as unknown (PROTOCOL §5, §6)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add what a decision names, and the receipt that tells of it."""
    script.run(op.get_bind(), "0006_decisions")
