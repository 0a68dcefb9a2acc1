"""What was lost is found again: expired leases, lost messages, work that waits for nobody."""

from __future__ import annotations

from datetime import timedelta

from app.broker.redis import Broker
from app.kinds.registry import KINDS
from app.store import claims, deliveries
from app.store.deliveries import Cause
from app.store.engine import Store
from app.transitions.deliver import deliver
from app.transitions.expire import expire

#: A message that left an empty queue is claimed within milliseconds, or it was lost.
UNCLAIMED_GRACE = timedelta(seconds=5)

_CAUSES = {"expired": Cause.LOST_WORKER, "released": Cause.RELEASED, "held": Cause.DECIDED}


def turn(store: Store) -> int:
    """End what expired and deliver what waits for nobody; needs no Redis."""
    with store.begin() as tx:
        lost = claims.expired(tx)
    for claim in lost:
        expire(store, claim)
    with store.begin() as tx:
        waiting = deliveries.undelivered(tx)
    done = sum(
        deliver(store, key, _CAUSES.get(ended or "", Cause.DECIDED), delay)
        for key, ended, delay in waiting
    )
    return len(lost) + done


def replace_lost_messages(store: Store, broker: Broker) -> int:
    """Replace deliveries whose message is nowhere, or that can no longer be claimed."""
    done = 0
    for kind in KINDS:
        with store.begin() as tx:
            overdue = deliveries.past_deadline(tx, kind)
            lost = deliveries.published_unclaimed(tx, kind, UNCLAIMED_GRACE)
        done += sum(deliver(store, key, Cause.EXPIRED) for key in overdue)
        if lost and broker.depth(kind) == 0:
            done += sum(deliver(store, key, Cause.UNCLAIMED) for key in lost if key not in overdue)
    return done
