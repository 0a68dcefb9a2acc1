"""Every digest in the database is that of the bytes beside it, and they are canonical (L5)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Table

from app.domain.digest import digest
from app.store import schema
from app.verify.finding import Finding, against
from app.verify.reading import World, value_of

#: Table, its digest, its bytes, and whether these are canonical JSON.
DIGESTS: tuple[tuple[Table, str, str, bool], ...] = (
    (schema.facts, "digest", "value", True),
    (schema.work_orders, "digest", "bytes", True),
    (schema.attempts, "workflow_digest", "workflow", True),
    (schema.activities, "request_digest", "request", True),
    (schema.effect_calls, "digest", "request", True),
    (schema.effect_answers, "digest", "evidence", True),
    (schema.artifacts, "digest", "bytes", False),
    (schema.payloads, "digest", "bytes", True),
    (schema.staged_batches, "digest", "bytes", True),
)


def check(world: World) -> Iterator[Finding]:
    """Recompute them all; those of receipts belong to their chain, of letters to theirs."""
    for table, column, source, is_canonical in DIGESTS:
        for row in world.rows(table, large=(source,)):
            held = bytes(getattr(row, source))
            if digest(held) != getattr(row, column):
                yield against("L5", table, row, f"its {column} is not that of its {source}")
            elif is_canonical and value_of(held) is None:
                yield against("L5", table, row, f"its {source} is no canonical object")
    for row in world.rows(schema.events, large=("value",)):
        if value_of(row.value) is None:
            yield against("L7", schema.events, row, "its value is no canonical object")
