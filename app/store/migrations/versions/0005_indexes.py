"""An index for results that nobody has staged."""

from __future__ import annotations

from alembic import op

from app.store import script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add it, and the column that it is about."""
    script.run(op.get_bind(), "0005_indexes")
