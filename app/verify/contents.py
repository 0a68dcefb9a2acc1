"""What a receipt lists is in the tables, as it says, and nothing else is (S04, L6, L10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from sqlalchemy import Table

from app.store import schema
from app.verify.finding import AnyRow, Finding, Violation, missing, path
from app.verify.reading import Key, Stream, World, value_of

_Listed: TypeAlias = Callable[[AnyRow], tuple[object, ...]]

#: Field of a receipt → table, and how a row is listed.
LISTED: Mapping[str, tuple[Table, _Listed]] = {
    "entities": (schema.entities, lambda row: (row.entity_id,)),
    "facts": (schema.facts, lambda row: (row.entity_id, row.component, row.version, row.digest)),
    "relations": (schema.relations, lambda row: (row.source, row.relation, row.target)),
    "batches": (schema.staged_batches, lambda row: (row.kind, row.activity_id, row.result_digest)),
}


def check(world: World) -> Iterator[Finding]:
    """Hold every receipt against the rows of its tick."""
    for (tick,), found in world.together(
        Stream(schema.receipts, ("tick",), large=("bytes",)),
        Stream(schema.entities, ("tick",)),
        Stream(schema.facts, ("tick",)),
        Stream(schema.relations, ("tick",)),
        Stream(schema.staged_batches, ("consumed_tick",),
               where=schema.staged_batches.c.consumed_tick.is_not(None)),
    ):  # fmt: skip
        receipt = found["receipts"]
        if not receipt:
            yield missing("L10", schema.receipts, world.id, tick, what="rows carry its tick")
            continue
        said = value_of(receipt[0].bytes)
        if said is None:
            continue  # the chain's check has named it
        for name, (table, listed) in LISTED.items():
            rows = {listed(row) for row in found[table.name]}
            yield from _compare(world, table, tick, rows, _tuples(said.get(name)))


def _compare(
    world: World, table: Table, tick: object, rows: set[Key], said: set[Key]
) -> Iterator[Finding]:
    for row in sorted(said - rows, key=str):
        yield missing("S04", table, world.id, *row, what=f"receipt {tick} lists it so")
    for row in sorted(rows - said, key=str):
        what = f"receipt {tick} does not list it so"
        yield Violation("S04", table.name, path(world.id, *row), what)


def _tuples(listed: object) -> set[Key]:
    """Rows as a receipt lists them; an entity is a bare number."""
    rows = listed if isinstance(listed, list) else []
    return {tuple(row) if isinstance(row, list) else (row,) for row in rows}
