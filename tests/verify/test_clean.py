"""What real transitions have made keeps every law."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.damage import Damage
from fixtures.database import Database

from app.store.schema import metadata
from app.verify.finding import Violation


@pytest.mark.contract("S04", "L2", "L3", "L4", "L5", "L6", "L7", "L9", "L10")
def test_real_roads_leave_nothing_to_find(
    violations: Callable[[Damage | None], list[Violation]],
) -> None:
    """Every ending, a lost claim, held and open work: none of it is a violation."""
    assert [str(one) for one in violations(None)] == []


def test_every_table_has_rows(lived: Database) -> None:
    """A table that nobody filled would be spoiled in vain."""
    with lived.as_superuser() as session:
        empty = [
            name
            for name in metadata.tables
            if session.execute(f"select 1 from {name} limit 1").fetchone() is None
        ]

    assert empty == []
