"""Handing an activity back after a failure: another claim by policy, or a person (T09)."""

from __future__ import annotations

from datetime import timedelta

from app.domain.errors import DiskFull
from app.domain.failure import failure_class
from app.domain.retry import POLICY, retry_after
from app.kinds.request import retry_rules
from app.store import activities, claims
from app.transitions.hold import hold
from app.transitions.release import release
from workers.worker import Run

#: Before a claim that may only look and close; it starts nothing, so it is no retry.
CLOSE_AFTER = timedelta(seconds=3)

#: A disk is not emptied within seconds, and a start that fills it again counts.
_SLOWER = 15


def hand_back(run: Run, code: str, why: str) -> None:
    """End the claim so that what the policy says follows; the chain at the provider stays open.

    A class that is not retried, or whose tries are used up, holds the work for a person. After a
    stop was asked for there is always another claim.
    """
    failure = failure_class(code)
    detail = f"{failure}: {code}: {why}"
    with run.store.begin() as tx:
        is_stopped = activities.get(tx, run.claim.key).stop is not None
        tries = claims.tries(tx, run.claim.key, failure)
    if is_stopped:
        return release(run.store, run.claim, detail, CLOSE_AFTER)
    pause = retry_after(failure, tries, retry_rules(run.activity.request), run.claim.key)
    if pause is not None:
        if code == DiskFull.code:
            pause = max(pause, min(pause * _SLOWER, POLICY[failure].longest))
        return release(run.store, run.claim, detail, pause)
    if failure in POLICY:
        return hold(run.store, run.claim, "claims_keep_ending", f"{detail}; no try is left")
    return hold(run.store, run.claim, code, detail)
