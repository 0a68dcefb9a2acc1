"""Projecting receipts: what they dispatched is admitted, what they completed is settled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from app.domain.digest import canonical
from app.domain.errors import FencepostError
from app.domain.identity import ActivityId, ActivityKey, WorldId
from app.domain.recovery import Stop
from app.domain.world import Fact
from app.events import Moment, emit
from app.kinds.base import KindOf, request_of
from app.kinds.order import CANCEL_REQUEST
from app.kinds.reading import string
from app.kinds.registry import KINDS
from app.store import activities, deliveries, receipts
from app.store.activities import Admission
from app.store.engine import Store, Tx
from app.transitions.settle import Marked, Said, settle

PROJECTOR = "activities"

_DISPATCHES = {kind.dispatch: kind for kind in KINDS.values()}
_MARKERS = {kind.marker: kind for kind in KINDS.values()}
#: The components that are looked for in receipts.
_READ = sorted({*_DISPATCHES, *(component for component, _ in _MARKERS)})


def project(store: Store, world: WorldId, ticks: range, lease: timedelta | None = None) -> None:
    """Read exactly these receipts; admitting, settling and the cursor commit together (Q01, A02).

    Repeating it is harmless (M02, M03, M11). A receipt whose completion record does not hold
    settles nothing and is said aloud. One that cannot be projected keeps nothing that is before it
    waiting: then each is read alone. `lease`: instead of each kind's own.
    """
    try:
        _project(store, world, ticks, lease)
    except FencepostError:
        if len(ticks) == 1:
            raise
        for tick in ticks:
            _project(store, world, range(tick, tick + 1), lease)


def _project(store: Store, world: WorldId, ticks: range, lease: timedelta | None) -> None:
    dispatched: list[Admission] = []
    marked: list[Marked] = []
    said: list[Said] = []
    with store.begin() as tx:
        for tick, fact in receipts.facts_of(tx, world, ticks, _READ):
            if kind := _DISPATCHES.get(fact.component):
                dispatched.append(_admission(world, tick, kind, fact, lease))
            elif kind := _MARKERS.get((fact.component, fact.version)):
                marked.append(Marked(tick, kind, fact))
        if dispatched:
            said += _admit(tx, world, dispatched)
        if marked:
            said += settle(tx, world, marked)
        receipts.advance(tx, world, PROJECTOR, ticks[-1])
    for moment, facts in said:
        emit(moment, **facts)


def _admission(
    world: WorldId, tick: int, kind: KindOf, dispatch: Fact, lease: timedelta | None
) -> Admission:
    limits = kind.limits.with_lease(lease)
    return Admission(
        ActivityKey(world, kind.name, ActivityId(string(dispatch.value, "dispatch_id"))),
        string(dispatch.value, "attempt"), canonical(request_of(kind, dispatch)), tick,
        limits.lease, limits.most_starts, limits.deadline,
    )  # fmt: skip


def _admit(tx: Tx, world: WorldId, dispatched: Sequence[Admission]) -> list[Said]:
    new = activities.admit(tx, dispatched)
    if new:
        deliveries.add_first(tx, {one.key: one.deadline for one in new})
        # Looked for once they are inserted: their foreign key has waited for whoever holds the
        # world, so a cancel is seen here, or comes later and finds them.
        asked = {one.attempt for one in new}
        canceled = activities.asked_to_end(tx, world, asked, CANCEL_REQUEST)
        for one in new:
            if one.attempt in canceled:
                activities.set_stop(tx, one.key, Stop.CANCEL)
    return [(Moment.ADMITTED, one.key.facts()) for one in new]
