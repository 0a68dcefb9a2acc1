"""A worker like any other, but that its commands do nothing: claim, renew, record.

What is left is the control path. `python -P -m bench.noop_worker --slots N`
"""

from __future__ import annotations

import sys

from app.domain.digest import canonical
from app.domain.result import Observation, Outcome
from app.kinds import command
from app.transitions.record import record
from workers import runner
from workers.__main__ import main
from workers.worker import Run

NOTHING = Observation(
    Outcome.GREEN,
    canonical(
        {
            "v": 1, "outcome": Outcome.GREEN,
            "sandbox": {"name": "none"}, "execution": {"ran": False},
            "checks": [], "frictions": [], "outputs": {},
        }
    ),
)  # fmt: skip


def nothing(run: Run) -> None:
    """Record at once that all is well."""
    record(run.store, run.claim, NOTHING)


if __name__ == "__main__":
    runner.WORK[command.NAME] = nothing
    sys.exit(main(sys.argv[1:]))
