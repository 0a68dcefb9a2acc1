"""Deliveries go out to Redis, as far as windows and limits have room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from app.broker.publisher import Publisher
from app.broker.redis import Broker
from app.domain.delivery import Delivery
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.store import deliveries, outbox
from app.store.deliveries import Cause
from app.store.engine import Store
from app.transitions.deliver import deliver
from app.transitions.take_turns import take_turns


def turn(store: Store, broker: Broker, publisher: Publisher, installation: str) -> int:
    """Send what fits; sending again after a crash in between does no harm."""
    done = _replace_after_a_wipe(store, broker, installation)
    taken = take_turns(store, broker.depths(list(KINDS)), broker.live_slots())
    send(store, publisher, taken)
    return done + len(taken)


def send(store: Store, publisher: Publisher, taken: Sequence[Delivery]) -> None:
    """Send a batch, and say in one transaction what was sent.

    An error proves nothing: that delivery waits again, with those behind it, though its message
    may be there. A sender that dies in between leaves all of them to `recall`.
    """
    sent: list[Delivery] = []
    try:
        for delivery in taken:
            publisher.send(delivery)
            sent.append(delivery)
    finally:
        if taken:
            with store.begin() as tx:
                outbox.lock(tx)
                outbox.confirm(tx, sent)
                outbox.give_back(tx, taken[len(sent) :])
    for delivery in sent:
        emit(Moment.PUBLISHED, **delivery.key.facts(), delivery=delivery.number)


def recall(store: Store) -> int:
    """Let wait again what a sender that died has taken; needs no Redis."""
    with store.begin() as tx:
        outbox.lock(tx)
        return outbox.recall(tx)


def _replace_after_a_wipe(store: Store, broker: Broker, installation: str) -> int:
    if not broker.was_wiped(installation):
        return 0
    replaced = 0
    for kind in KINDS:
        with store.ask() as tx:
            lost = deliveries.published_unclaimed(tx, kind, timedelta(0))
        replaced += sum(deliver(store, key, Cause.WIPED) for key in lost)
    broker.mark(installation)
    with store.begin() as tx:
        could_lose = deliveries.was_any_sent(tx)  # else this is the first marker, and no wipe
    if could_lose:
        emit(Moment.BROKER_WIPED, replaced=replaced)
    return replaced
