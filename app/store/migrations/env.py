"""Alembic's entry; the connection comes from app/store/migrate.py, never from a file."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    version_table_schema="fencepost",
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
