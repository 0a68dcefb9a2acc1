"""Calls that a forge refused are no starts (Q09, G04)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Count a call as a start unless its forge has said that nothing was done."""
    script.run(op.get_bind(), "0009_refused_calls")
