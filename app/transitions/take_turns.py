"""Taking the next deliveries out, as far as windows and limits have room."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain import window
from app.domain.delivery import Delivery
from app.domain.identity import Kind
from app.kinds.registry import KINDS
from app.store import limits, outbox
from app.store.engine import Store

#: Deliveries of a queue at a time: a batch is sent long before `outbox.SENDING` is over.
MOST_AT_ONCE = 100


def take_turns(store: Store, depths: Mapping[Kind, int], slots: int) -> list[Delivery]:
    """The deliveries to send next, each from now on being sent (Q02).

    `depths`: the messages of each queue in Redis; `slots`: those of all live workers. However many
    ask at once, no more is out than windows and limits allow. Queues take turns as worlds do, so
    that a limit on all of them starves none.
    """
    taken: list[Delivery] = []
    with store.ask() as tx:
        waiting = outbox.queues_in_turn(tx)
    if not waiting:
        return []
    with store.begin() as tx:
        outbox.lock(tx)
        decided = limits.current(tx)
        loads = outbox.loads(tx, depths, running=decided.is_any_on_running(waiting))
        left = decided.left(loads)
        for kind in waiting:
            still = None if left is None else left - len(taken)
            free = window.room(decided.bounds(kind, slots, still), loads[kind])
            if free:
                life = KINDS[kind].limits.deadline
                taken += outbox.take(tx, kind, min(free, MOST_AT_ONCE), life)
    return taken
