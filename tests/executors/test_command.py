"""The executor `command/v1` runs any program."""

from __future__ import annotations

from pathlib import Path

import pytest
from doubles.models import Run
from fixtures.agents import Stand

from workers.executors.base import Spawned, Wrote


@pytest.fixture
def command(tmp_path: Path) -> Stand:
    """The executor on a tree."""
    return Stand("command/v1", tmp_path)


def test_tells_what_happens_in_order(command: Stand) -> None:
    """First that the program runs, then what it writes, then how it ended."""
    ran = command.run(Run("pwd"))

    first, *rest = ran.events
    assert isinstance(first, Spawned)
    written = b"".join(one.chunk for one in rest if isinstance(one, Wrote))
    assert written == f"{command.tree}\n".encode()
    assert ran.outcome.problem is None
