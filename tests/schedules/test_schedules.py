"""Seeded faults of forge, workers, people and operator; requests are counted at the server.

The same seed gives the same faults; how threads race under them differs from machine to machine.
`FENCEPOST_SEEDS=17,99` carries those, and nothing else.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from fixtures.database import Database
from schedules.many import carried
from schedules.run import Run

SEEDS = 1000
CHUNK = 100
SAMPLE = 50  #: of them are carried without --long
_NAMED = [int(one) for one in os.environ.get("FENCEPOST_SEEDS", "").split(",") if one]


def all_is_well(folder: Path, database: Database, seeds: Sequence[int]) -> None:
    ends: Counter[str] = Counter()

    def look(run: Run) -> None:
        ends[run.ending] += 1

    broken, wrong = carried(folder, database, seeds, look)

    print(f"{len(seeds)} schedules: {dict(ends)}")
    assert not broken, "\n\n".join(map(str, broken))
    assert wrong == []


@pytest.mark.contract("G01", "G02", "G03", "L4", "G08")
@pytest.mark.timeout(300)
def test_a_candidate_has_one_request_whatever_happens(tmp_path: Path, database: Database) -> None:
    """Counted at the server: one request each, one run of the agent, nothing stuck, no secret."""
    all_is_well(tmp_path, database, _NAMED or range(SAMPLE))


@pytest.mark.long
@pytest.mark.contract("G01", "G02", "G03", "L4", "G08")
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(_NAMED), reason="seeds are named")
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_it_has_under_a_thousand_schedules(tmp_path: Path, database: Database, first: int) -> None:
    """The same, a hundred at a time."""
    all_is_well(tmp_path, database, range(first, first + CHUNK))
