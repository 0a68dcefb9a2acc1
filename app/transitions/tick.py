"""The world's own tick: batches become facts, processors decide, one receipt says so."""

from __future__ import annotations

from app.domain.digest import parse
from app.domain.identity import WorldId
from app.domain.result import observation_from
from app.events import Moment, emit
from app.kinds.base import Staging
from app.kinds.registry import KINDS
from app.store import activities, results, worlds
from app.store.engine import Store, Tx
from app.store.results import StagedBatch
from app.transitions.change import DISPATCHER, Change, Command, changing


def tick(store: Store, world: WorldId) -> int:
    """Consume the batches that wait and return their number; without any there is no tick.

    Each batch is staged whole or not at all (L6, A11); processors see complete batches only.
    """
    with store.begin() as tx:
        worlds.lock(tx, world)
        waiting = results.waiting_batches(tx, world)
        if not waiting:
            return 0
        with changing(tx, world, Command("observe", DISPATCHER, {})) as change:
            for batch in waiting:
                _consume(tx, change, batch)
        number = change.world.tick
    emit(Moment.TICKED, world=world, tick=number, batches=len(waiting))
    return len(waiting)


def _consume(tx: Tx, change: Change, batch: StagedBatch) -> None:
    kind = KINDS[batch.key.kind]
    result = results.find(tx, batch.key)
    assert result is not None
    assert result.digest == batch.result
    request = parse(activities.get(tx, batch.key).request)
    assert isinstance(request, dict)
    observation = observation_from(results.payload(tx, batch.key.world, result.digest))
    with change.world.all_or_none():
        marker = kind.stage(change.world, Staging(request, result, observation))
    change.decisions += kind.decide(change.world, marker)
    results.consume(tx, batch, change.world.tick)
    change.batches.append([batch.key.kind, batch.key.activity, batch.result])
