"""What an attempt waits for, told to people."""

from __future__ import annotations

from app.cli.shown import plain
from app.domain.bounds import Bound
from app.store.views.waiting import WaitSeen, WriterSeen


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
