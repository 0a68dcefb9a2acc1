"""Giving a slot back until the time that a forge has named (G04)."""

from __future__ import annotations

from datetime import timedelta

from app.domain.pull_request import LIMITED, ForgeLimited
from app.transitions.release import release
from workers.worker import Run

#: Those that wait for the same instant come back within so long after it.
_SPREAD = timedelta(seconds=10)


def give_back(run: Run, fault: ForgeLimited) -> None:
    """End the claim; another follows when the forge takes calls again. It is no failed try."""
    share = int(run.claim.key.activity[:4], 16) / 0x10000
    release(run.store, run.claim, f"{LIMITED}: {fault.message}", fault.wait + share * _SPREAD)
