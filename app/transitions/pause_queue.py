"""Pausing a queue."""

from __future__ import annotations

from app.domain.errors import WrongState
from app.domain.identity import Kind
from app.events import Moment, emit
from app.store import limits, outbox
from app.store.engine import Store
from app.store.limits import What
from app.transitions.limit import check_queue, check_reason


def pause_queue(store: Store, queue: Kind, actor: str, reason: str) -> int:
    """Let nothing of a queue begin until it is resumed; how many deliveries were taken back.

    Nothing more is sent. What was sent and not claimed waits in Postgres again, and its message
    gets the verdict `paused`. What runs goes on. A queue that is paused already is WrongState.
    """
    check_queue(queue)
    check_reason(reason)
    with store.begin() as tx:
        outbox.lock(tx)  # lock first, look, then change
        if pause := limits.current(tx).pause(queue):
            raise WrongState(f"{queue} is paused already, by {pause.by} because: {pause.reason}")
        limits.decide(tx, What.PAUSE, 1, actor, reason, queue=queue)
        back = outbox.take_back(tx, queue)
    emit(Moment.QUEUE_PAUSED, queue=queue, by=actor, taken_back=back)
    return back
