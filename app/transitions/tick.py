"""The world's own tick: batches become facts, processors decide, one receipt says so."""

from __future__ import annotations

from app.domain.digest import parse
from app.domain.errors import UnfitInput
from app.domain.identity import WorldId
from app.domain.result import observation_from
from app.events import Moment, emit
from app.kinds.base import Staging
from app.kinds.registry import KINDS
from app.store import batches, worlds
from app.store.batches import StagedBatch
from app.store.engine import Store
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
            row = worlds.lock(tx, world)
            waiting = batches.waiting_batches(tx, world)
            with changing(tx, world, Command("observe", DISPATCHER, {}), row) as change:
                change.read_ahead(batch.attempt for batch in waiting)
                consumed = [batch.result for batch in waiting if _consume(change, batch)]
                if not consumed:
                    raise _NoTick
                batches.consume(tx, consumed, change.world.tick)
                go_on(change)
    except _NoTick:
        return 0
    emit(Moment.TICKED, world=world, tick=change.world.tick, batches=len(consumed))
    return len(consumed)


class _NoTick(Exception):
    """Nothing can be consumed, so there is nothing to commit."""


def _consume(change: Change, batch: StagedBatch) -> bool:
    result, kind = batch.result, KINDS[batch.result.key.kind]
    request = parse(batch.request)
    assert isinstance(request, dict)
    observation = observation_from(batch.observation)
    try:
        with change.world.all_or_none():
            marker = kind.stage(change.world, Staging(request, result, observation))
            decisions = kind.decide(change.world, marker)
    except UnfitInput as fault:
        emit(Moment.TROUBLE, **result.key.facts(), code=fault.code, what=fault.message)
        return False
    change.decide(*decisions)
    for attempt in {one.attempt for one in decisions}:
        advance(change, attempt)
    change.batches.append([result.key.kind, result.key.activity, result.digest])
    return True
