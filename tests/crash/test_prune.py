"""Whoever prunes may die at any instant: what is gone is gone, and the rest waits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fixtures import role
from fixtures.database import Database
from fixtures.refs import MONTH, a_shore
from fixtures.waiting import until

from app.domain.pruning import Standing
from app.events import Moment

_PRUNING = Path(__file__).with_name("pruning.py")


@pytest.mark.contract("O06", "L5")
def test_a_prune_killed_between_two_pushes_is_simply_run_again(
    database: Database, tmp_path: Path
) -> None:
    """Two of five are gone with the first push; the same command again deletes the other three."""
    with a_shore(database, tmp_path, "local") as shore:
        those = [shore.ended() for _ in range(5)]
        kept = shore.published()
        environment = {"PATH": os.environ["PATH"], "FENCEPOST_DATABASE_URL": database.app_url}
        pruning = role.start(
            (str(_PRUNING), str(tmp_path)), environment=environment, directory=tmp_path,
            logs=tmp_path / "logs", stops_at=Moment.REFS_PRUNED,
        )  # fmt: skip
        until(lambda: pruning.is_stopped)
        pruning.kill()
        left = set(shore.at_remote())
        assert len(left) == 4
        assert kept.ref in left

        found = shore.prune(MONTH)

        assert {one.ref for one in those} - left == {one.ref for one in those} - set(found)
        fates = [one.standing for one in found.values()]
        assert sorted(fates) == [Standing.DELETED] * 3 + [Standing.OPEN]
        assert shore.at_remote() == {kept.ref: kept.tip}
