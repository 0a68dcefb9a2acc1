"""What webhooks hint at (G07)."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the table of deliveries, and a way from a commit to who watches it."""
    script.run(op.get_bind(), "0008_webhooks")
