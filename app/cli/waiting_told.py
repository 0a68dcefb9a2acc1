"""What an attempt waits for, told to people."""

from __future__ import annotations

from app.cli import queue_told
from app.cli.shown import plain
from app.domain.bounds import Bound
from app.domain.identity import ActivityId, ActivityKey, Kind, WorldId
from app.store.engine import Tx
from app.store.views.attempt import AttemptSeen
from app.store.views.delay import delay_of
from app.store.views.waiting import WaitSeen, WriterSeen, waits_of


def told(tx: Tx, seen: AttemptSeen) -> dict[str, str]:
    """Step → why it does not run, of every step that would if it could."""
    found = {one.step: words(one) for one in waits_of(tx, seen.world, seen.id)}
    for step in seen.steps:
        if step.activity is None or step.fence is None or step.settled_tick is not None:
            continue
        key = ActivityKey(WorldId(seen.world), Kind(step.kind), ActivityId(step.activity))
        if (delay := delay_of(tx, key)) is not None:
            found[step.name] = f"step {step.name} {queue_told.why(delay)}"
    return found


def words(seen: WaitSeen) -> str:
    """Why a step does not begin, and what would let it."""
    before = f"; {seen.before} wait before it" if seen.before else ""
    return plain(f"step {seen.step} waits: {_why(seen)}{before}", 400)


def _why(seen: WaitSeen) -> str:
    match seen.bound:
        case Bound.MERGE:
            writers = ", ".join(_writer(one) for one in seen.writers)
            most = min((one.bound for one in seen.writers), default=1)
            at_once = "one writer" if most == 1 else f"{most} writers"
            return (
                f"base {seen.base} takes {at_once} at once: {writers or 'others come first'}; "
                "merge or close a request: fencepost pull-requests list --state open"
            )
        case Bound.REPOSITORY:
            return f"{seen.at_work} attempts are at work in its repository, of {seen.limit}"
        case Bound.WORLD:
            return f"{seen.at_work} attempts are at work in its world, of {seen.limit}"


def _writer(seen: WriterSeen) -> str:
    if seen.request is None:
        return f"{seen.attempt} is at work"
    return f"request #{seen.request} of {seen.attempt} is open"
