"""What the control plane tells of attempts; the database counts it with what workers tell (O04)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import insert

from app.domain.digest import canonical
from app.domain.event import Told
from app.domain.identity import WorldId
from app.store.engine import Tx
from app.store.schema import attempt_events


def append(tx: Tx, world: WorldId, tick: int, told: Sequence[Told]) -> None:
    """Append to the attempts' journals, in order; each row stays locked until the commit.

    Nothing may be locked after it: a worker that counts holds its activity, and waits here.
    """
    if told:
        rows = [
            {"world_id": world, "attempt_id": one.attempt, "type": one.type,
             "sequence": 0,  # the trigger counts
             "value": canonical(one.value), "tick": tick}
            for one in told
        ]  # fmt: skip
        tx.execute(insert(attempt_events), rows)
