"""The world's own tick: batches become facts, processors decide, one receipt says so."""

from __future__ import annotations

from app.domain.digest import parse
from app.domain.errors import UnfitInput
from app.domain.identity import WorldId
from app.domain.result import observation_from
from app.events import Moment, emit
from app.kinds.base import Staging
from app.kinds.registry import KINDS
from app.store import activities, results, worlds
from app.store.engine import Store, Tx
from app.store.results import StagedBatch
from app.transitions.advance import advance
from app.transitions.change import DISPATCHER, Change, Command, changing
from app.transitions.waiting import go_on


def tick(store: Store, world: WorldId) -> int:
    """Consume the batches that wait and return their number; without any there is no tick.

    Each batch is staged whole or not at all (L6, A11); processors see complete batches only. One
    that cannot be staged is said aloud and left; the others do not wait for it.
    """
    try:
        with store.begin() as tx:
            worlds.lock(tx, world)
            waiting = results.waiting_batches(tx, world)
            with changing(tx, world, Command("observe", DISPATCHER, {})) as change:
                consumed = sum(_consume(tx, change, batch) for batch in waiting)
                if not consumed:
                    raise _NoTick
                go_on(change)
    except _NoTick:
        return 0
    emit(Moment.TICKED, world=world, tick=change.world.tick, batches=consumed)
    return consumed


class _NoTick(Exception):
    """Nothing can be consumed, so there is nothing to commit."""


def _consume(tx: Tx, change: Change, batch: StagedBatch) -> bool:
    kind = KINDS[batch.key.kind]
    result = results.find(tx, batch.key)
    assert result is not None
    assert result.digest == batch.result
    request = parse(activities.get(tx, batch.key).request)
    assert isinstance(request, dict)
    observation = observation_from(results.payload(tx, batch.key.world, result.digest))
    try:
        with change.world.all_or_none():
            marker = kind.stage(change.world, Staging(request, result, observation))
            decisions = kind.decide(change.world, marker)
    except UnfitInput as fault:
        emit(Moment.TROUBLE, **batch.key.facts(), code=fault.code, what=fault.message)
        return False
    change.decide(*decisions)
    for attempt in {one.attempt for one in decisions}:
        advance(change, attempt)
    results.consume(tx, batch, change.world.tick)
    change.batches.append([batch.key.kind, batch.key.activity, batch.result])
    return True
