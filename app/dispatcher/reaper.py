"""What was lost is found again: expired leases, lost messages, work that nobody will end."""

from __future__ import annotations

from app.broker.redis import Broker
from app.domain.identity import ActivityKey
from app.kinds.registry import KINDS
from app.store import activities, claims, deliveries
from app.store.deliveries import Cause
from app.store.engine import Store
from app.store.views.queues import GRACE
from app.transitions.deliver import deliver
from app.transitions.expire import expire
from app.transitions.withdraw import withdraw

_CAUSES = {"expired": Cause.LOST_WORKER, "released": Cause.RELEASED, "held": Cause.DECIDED}


def turn(store: Store) -> int:
    """End what expired or was canceled unclaimed, deliver what waits for nobody; needs no Redis."""
    with store.ask() as tx:
        lost = claims.expired(tx)
    for claim in lost:
        expire(store, claim)
    with store.ask() as tx:
        canceled = activities.canceled_untouched(tx)
    withdrawn = sum(withdraw(store, key) for key in canceled)
    with store.ask() as tx:
        waiting = deliveries.undelivered(tx)
    delivered = sum(
        _is_over(store, key) or deliver(store, key, _CAUSES.get(ended or "", Cause.DECIDED), delay)
        for key, ended, delay in waiting
    )
    return len(lost) + withdrawn + delivered


def _is_over(store: Store, key: ActivityKey) -> bool:
    """Whether it was canceled while somebody looked, and only looks: then it ends here."""
    return KINDS[key.kind].only_looks and withdraw(store, key)


def replace_lost_messages(store: Store, broker: Broker) -> int:
    """Replace deliveries whose message is nowhere, or that can no longer be claimed."""
    done = 0
    for kind in KINDS:
        with store.ask() as tx:
            overdue = deliveries.past_deadline(tx, kind)
            lost = deliveries.published_unclaimed(tx, kind, GRACE)
        done += sum(deliver(store, key, Cause.EXPIRED) for key in overdue)
        if lost and broker.depth(kind) == 0:
            done += sum(deliver(store, key, Cause.UNCLAIMED) for key in lost if key not in overdue)
    return done
