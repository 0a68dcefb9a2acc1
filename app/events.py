"""The one list of named moments.

A moment is emitted after the fact it names: after the commit, after the push, after the process
started. Subscribers turn moments into log lines and metrics. The list is the only seam that tests
use: a test's subscriber stops its own process at a moment, and the test kills it from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum


class Moment(StrEnum):
    """What happened, in the words of the road (docs/walk.md)."""

    # the control plane
    DISPATCHED = "attempt.dispatched"
    ADMITTED = "activity.admitted"
    PUBLISHED = "delivery.published"
    REPLACED = "delivery.replaced"
    BROKER_WIPED = "broker.wiped"
    QUEUE_PAUSED = "queue.paused"
    QUEUE_RESUMED = "queue.resumed"
    LIMITED = "limit.decided"
    STAGED = "result.staged"
    TICKED = "world.ticked"
    SETTLED = "activity.settled"
    CLAIM_EXPIRED = "claim.expired"
    BURIED = "dead_letter.kept"
    LETTER_REPLAYED = "dead_letter.replayed"
    LETTERS_DISMISSED = "dead_letter.dismissed"
    HINTED = "webhook.heeded"  #: who watches looks sooner
    REFS_PRUNED = "refs.pruned"  #: deleted at their remote, in one push
    REF_ALARMING = "ref.alarming"  #: work that ended, and a chain that says otherwise
    RESOLVED = "unknown.resolved"  #: a person decided; another claim follows
    # a worker
    CLAIMED = "activity.claimed"
    VERDICT = "claim.refused"
    BOUND = "operation.bound"
    DECIDED = "recovery.decided"
    MARKED = "operation.marked"  #: `started` or `guarded` is at the remote
    STARTED = "activity.started"  #: the start row is committed
    SPAWNED = "process.spawned"
    EXITED = "process.exited"
    CHECKED = "check.finished"
    COMMITTED = "candidate.committed"
    DEPOSITED = "payload.kept"  #: before it is pushed, where the remote takes no mark
    PUSHED = "result.pushed"
    CALLED = "forge.called"  #: the effect_calls row is committed; the call is not sent yet
    HEAD_MOVED = "head.moved"  #: nothing can be opened for the old name any more
    OPENED = "pull_request.opened"  #: the forge answered; nothing is recorded yet
    RECORDED = "result.recorded"
    RENEWED = "claim.renewed"  #: one beat of a process, over all that it holds
    RELEASED = "claim.released"
    HELD = "claim.held"
    LOST = "claim.lost"
    DRAINING = "worker.draining"  #: told to end: it begins nothing new, and what runs has a grace
    STALLED = "worker.stalled"  #: messages wait, slots are free, and nothing is read
    NO_ROOM = "worker.no_room"  #: too little free disk: nothing is read or begun until there is
    ROOM_AGAIN = "worker.room_again"
    CACHE_SWEPT = "cache.swept"  #: nobody used it; what it held can be fetched again
    CLOSED = "operation.closed"
    # processes
    ROLE_STARTED = "role.started"
    ROLE_DIED = "role.died"
    ROLE_STOPPED = "role.stopped"
    METRICS_SERVED = "metrics.served"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class Event:
    """One moment and its facts: ids, counts, durations; never a secret, never a payload."""

    moment: Moment
    facts: dict[str, str | int] = field(default_factory=dict)


Subscriber = Callable[[Event], None]

subscribers: list[Subscriber] = []


def emit(moment: Moment, **facts: str | int) -> None:
    """Tell every subscriber, in order, in this thread."""
    event = Event(moment, facts)
    for subscriber in tuple(subscribers):
        subscriber(event)
