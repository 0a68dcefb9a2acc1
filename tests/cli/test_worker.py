"""`fencepost worker`: one more beside those that are there."""

from __future__ import annotations

import signal

from fixtures.command import Fencepost
from fixtures.waiting import until


def test_a_worker_joins_the_stack_that_runs_here(up: Fencepost) -> None:
    """Without any URL it finds the servers of its home, works, and drains on TERM."""
    before = connected(up)
    worker = up.begin("worker", "--slots", "1")
    until(lambda: connected(up) == before + 1, 60)

    worker.send_signal(signal.SIGTERM)

    _, err = worker.communicate(timeout=60)
    assert worker.returncode == 0, err


def test_without_a_stack_it_says_what_it_needs(own: Fencepost) -> None:
    """Nothing runs here and no URL was given: exit 2, and the name of what is missing."""
    said = own("worker")

    assert (said.code, "FENCEPOST_DATABASE_URL" in said.err) == (2, True)


def connected(up: Fencepost) -> int:
    """How many workers Redis knows."""
    (line,) = [one for one in up("status").out.splitlines() if one.startswith("workers ")]
    return int(line.split()[1])
