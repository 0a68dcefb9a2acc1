"""What an attempt waits for, told to people."""

from __future__ import annotations

from app.cli import queue_told
from app.cli.shown import plain
from app.domain.bounds import Bound
from app.domain.identity import ActivityId, ActivityKey, Kind, WorldId
from app.store.engine import Tx
from app.store.views.attempt import AttemptSeen
from app.store.views.delay import Why, delay_of
from app.store.views.waiting import WaitSeen, WriterSeen, waits_of

#: What does not pass by itself within moments.
_LASTING = (Why.HELD, Why.PAUSED, Why.LATER, Why.LIMIT)


def told(tx: Tx, seen: AttemptSeen, *, lasting: bool = False) -> dict[str, str]:
    """Step → why it does not run, of every step that would if it could.

    `lasting`: without what is usually over in a moment.
    """
    found = {one.step: words(one) for one in waits_of(tx, seen.world, seen.id, seen.work_order)}
    for step in seen.steps:
        if step.activity is None or step.fence is None or step.settled_tick is not None:
            continue
        key = ActivityKey(WorldId(seen.world), Kind(step.kind), ActivityId(step.activity))
        delay = delay_of(tx, key)
        if delay is not None and (not lasting or delay.why in _LASTING):
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
            why = f"base {seen.base} takes {_writers(most)} at once"
            if seen.own < most:
                why = f"it shares base {seen.base} with {seen.own - 1 or 'no'} other"
            fewer = max(1, len(seen.writers) - min(most, seen.own) + 1)
            which = "merge or close" + (" it" if len(seen.writers) == 1 else f" {fewer} of them")
            return (
                f"{why}: {writers or 'others come first'}; "
                f"{which}: fencepost pull-requests list --state open"
            )
        case Bound.REPOSITORY:
            return f"{seen.at_work} attempts are at work in its repository, of {seen.limit}"
        case Bound.WORLD:
            return f"{seen.at_work} attempts are at work in its world, of {seen.limit}"


def _writers(number: int) -> str:
    return "one writer" if number == 1 else f"{number} writers"


def _writer(seen: WriterSeen) -> str:
    if seen.request is None:
        return f"{seen.attempt} is at work"
    return f"request #{seen.request} of {seen.attempt} is open"
