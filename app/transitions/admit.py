"""Projecting one receipt: what it dispatched is admitted, what it completed is settled."""

from __future__ import annotations

from datetime import timedelta

from app.domain.digest import canonical
from app.domain.identity import ActivityId, ActivityKey, WorldId
from app.domain.recovery import Stop
from app.domain.world import Fact
from app.events import Moment, emit
from app.kinds.base import KindOf, request_of
from app.kinds.batch import IncompleteBinding
from app.kinds.order import CANCEL_REQUEST
from app.kinds.reading import string
from app.kinds.registry import KINDS
from app.store import activities, attempts, board, deliveries, worlds
from app.store.engine import Store, Tx
from app.transitions.settle import settle

PROJECTOR = "activities"


def project(store: Store, world: WorldId, tick: int, lease: timedelta | None = None) -> None:
    """Read exactly this receipt; admitting, settling and the cursor commit together (Q01, A02).

    Repeating it is harmless (M02, M03, M11). A receipt whose completion record does not hold
    settles nothing and is said aloud. `lease`: instead of each kind's own.
    """
    moments: list[tuple[Moment, dict[str, str | int]]] = []
    with store.begin() as tx:
        for fact in worlds.facts_of(tx, world, tick):
            for kind in KINDS.values():
                if fact.component == kind.dispatch:
                    key = _admit(tx, world, tick, kind, fact, lease)
                    moments += [(Moment.ADMITTED, key.facts())] if key else []
                elif (fact.component, fact.version) == kind.marker:
                    moments += _settled(tx, world, tick, kind, fact)
        worlds.advance(tx, world, PROJECTOR, tick)
    for moment, facts in moments:
        emit(moment, **facts)


def _admit(
    tx: Tx, world: WorldId, tick: int, kind: KindOf, dispatch: Fact, lease: timedelta | None
) -> ActivityKey | None:
    key = ActivityKey(world, kind.name, ActivityId(string(dispatch.value, "dispatch_id")))
    attempt = string(dispatch.value, "attempt")
    request = canonical(request_of(kind, dispatch))
    limits = kind.limits.with_lease(lease)
    if not activities.admit(tx, key, attempt, request, tick, limits.lease, limits.most_starts):
        return None
    deliveries.add(tx, key, deliveries.Cause.FIRST, limits.deadline)
    if _cancel_requested(tx, world, attempt):
        activities.set_stop(tx, key, Stop.CANCEL)
    return key


def _cancel_requested(tx: Tx, world: WorldId, attempt: str) -> bool:
    """Whether a cancel of this attempt came before its activity was admitted."""
    now = worlds.lock(tx, world)
    task = board.task(tx, world, attempts.get(tx, world, attempt).task_id).entity
    request = worlds.StoredSnapshot(tx, world, now.tick).fact(task, CANCEL_REQUEST)
    return request is not None and request.value.get("attempt") == attempt


def _settled(
    tx: Tx, world: WorldId, tick: int, kind: KindOf, marker: Fact
) -> list[tuple[Moment, dict[str, str | int]]]:
    try:
        key = settle(tx, world, tick, kind, marker)
    except IncompleteBinding as fault:
        return [(Moment.TROUBLE, {"world": world, "tick": tick, "what": fault.message})]
    return [(Moment.SETTLED, {**key.facts(), "tick": tick})] if key else []
