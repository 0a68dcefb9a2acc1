"""Deliveries go out to Redis, as far as the window has room."""

from __future__ import annotations

from datetime import timedelta

from app.broker import window
from app.broker.publisher import Publisher
from app.broker.redis import Broker
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.store import deliveries
from app.store.deliveries import Cause
from app.store.engine import Store
from app.transitions.deliver import deliver


def turn(store: Store, broker: Broker, publisher: Publisher, installation: str) -> int:
    """Send what fits, then mark it sent; sending again after a crash in between does no harm."""
    sent = _replace_after_a_wipe(store, broker, installation)
    for kind in KINDS:
        room = window.room(broker, kind)
        with store.begin() as tx:
            waiting = deliveries.waiting(tx, kind, room)
        for delivery in waiting:
            publisher.send(delivery)
            with store.begin() as tx:
                deliveries.mark_published(tx, delivery)
            emit(Moment.PUBLISHED, **delivery.key.facts(), delivery=delivery.number)
        sent += len(waiting)
    return sent


def _replace_after_a_wipe(store: Store, broker: Broker, installation: str) -> int:
    if not broker.was_wiped(installation):
        return 0
    replaced = 0
    for kind in KINDS:
        with store.begin() as tx:
            lost = deliveries.published_unclaimed(tx, kind, timedelta(0))
        replaced += sum(deliver(store, key, Cause.WIPED) for key in lost)
    broker.mark(installation)
    emit(Moment.BROKER_WIPED, replaced=replaced)
    return replaced
