"""Every table is guarded: a superuser who goes past every trigger is found out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.damage import DAMAGES, UNNOTICED, Damage, changed

from app.store.schema import Sha256, metadata
from app.verify.finding import Violation

#: Nobody but the owner reads them.
SECRET = {"token_hash"}
DIGESTS = [
    (table.name, column.name)
    for table in metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, Sha256) and column.name not in SECRET
]


@pytest.mark.contract("S04", "L2", "L3", "L4", "L5", "L6", "L7", "L9", "L10", "L11")
@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_damage_is_named(violations: Callable[[Damage], list[Violation]], damage: Damage) -> None:
    """Whatever is changed, added or taken away, a line names the table and the law."""
    named = {(one.table, one.law) for one in violations(damage)}

    assert (damage.table, damage.law) in named


@pytest.mark.contract("L5", "S04")
@pytest.mark.parametrize(("table", "column"), DIGESTS)
def test_digest_that_is_not_of_its_bytes_is_named(
    violations: Callable[[Damage], list[Violation]], table: str, column: str
) -> None:
    """No digest can be exchanged, even where no CHECK is left to hold it."""
    assert table in {one.table for one in violations(changed(table, column))}


def test_every_table_is_damaged_in_turn() -> None:
    """A table that no damage is for would be guarded by hope."""
    known = {damage.table for damage in DAMAGES} | set(UNNOTICED)

    assert {table.name for table in metadata.tables.values()} == known
