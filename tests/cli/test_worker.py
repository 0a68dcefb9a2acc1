"""`fencepost worker`: one more beside those that are there."""

from __future__ import annotations

from fixtures.command import Fencepost
from fixtures.waiting import until


def test_a_worker_joins_the_stack_that_runs_here(up: Fencepost) -> None:
    """Without any URL it finds the servers of its home."""
    before = connected(up)

    worker = up.begin("worker", "--slots", "1")

    try:
        until(lambda: connected(up) == before + 1, 60)
    finally:
        worker.terminate()
        worker.communicate(timeout=60)


def test_without_a_stack_it_says_what_it_needs(own: Fencepost) -> None:
    """Nothing runs here and no URL was given: exit 2, and a setting is named."""
    said = own("worker")

    assert (said.code, "code=setting_missing" in said.err) == (2, True), said.err


def connected(up: Fencepost) -> int:
    """How many workers Redis knows."""
    (line,) = [one for one in up("status").out.splitlines() if one.startswith("workers ")]
    return int(line.split()[1])
