"""Resuming a queue that was paused."""

from __future__ import annotations

from app.domain.errors import WrongState
from app.domain.identity import Kind
from app.events import Moment, emit
from app.store import limits, outbox
from app.store.engine import Store
from app.store.limits import What
from app.store.listening import wake
from app.transitions.limit import check_queue, check_reason


def resume_queue(store: Store, queue: Kind, actor: str, reason: str) -> None:
    """Let a queue send again; one that is not paused is WrongState."""
    check_queue(queue)
    check_reason(reason)
    with store.begin() as tx:
        outbox.lock(tx)  # lock first, look, then change
        if limits.current(tx).pause(queue) is None:
            raise WrongState(f"{queue} is not paused", hint="see `fencepost queues list`")
        limits.decide(tx, What.PAUSE, None, actor, reason, queue=queue)
        wake(tx)
    emit(Moment.QUEUE_RESUMED, queue=queue, by=actor)
