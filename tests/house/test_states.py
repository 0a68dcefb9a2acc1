"""docs/states.md is what the tables of legal transitions say."""

from __future__ import annotations

import pytest
import state_diagrams

from app.domain.card import MOVES
from app.domain.lifecycle import LIFE
from app.domain.transition import Transition


def test_the_page_is_drawn_from_the_tables() -> None:
    """Whoever changes a table runs `ops/states`."""
    assert state_diagrams.PAGE.read_text("utf-8") == state_diagrams.page()


@pytest.mark.parametrize("table", [MOVES, LIFE], ids=["card", "work order"])
def test_a_table_has_no_row_twice_and_no_state_out_of_reach(
    table: tuple[Transition, ...],
) -> None:
    """Every state of the picture can be come to from the first one."""
    rows = [(one.before, one.after, one.hand, one.meaning) for one in table]
    states = {state for one in table for state in type(one.before)}
    reached, seen = {table[0].before}, 0
    while seen != len(reached):
        seen = len(reached)
        reached |= {one.after for one in table if one.before in reached}

    assert len(rows) == len(set(rows))
    assert reached == states
