"""The journal of an attempt: what its workers and the control plane told, in one sequence (O04)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, Integer, Text, literal, null, select, union_all

from app.domain.digest import Json, parse
from app.store.engine import Tx
from app.store.schema import attempt_events, events


@dataclass(frozen=True, slots=True)
class Written:
    """One event of an attempt; without an activity the control plane told it."""

    sequence: int
    at: datetime
    kind: str | None
    activity: str | None
    fence: int | None
    n: int | None
    type: str
    value: Mapping[str, Json]


def written_after(tx: Tx, world: str, attempt: str, sequence: int) -> list[Written]:
    """The events of an attempt after a number, in order, without a gap.

    One statement reads both tables: who sees a number sees every number before it.
    """
    by_workers = select(
        events.c.sequence, events.c.recorded_at, events.c.kind, events.c.activity_id,
        events.c.fence, events.c.n, events.c.type, events.c.value,
    ).where(events.c.world_id == world, events.c.attempt_id == attempt)  # fmt: skip
    by_control = select(
        attempt_events.c.sequence, attempt_events.c.recorded_at, null().cast(Text),
        null().cast(Text), null().cast(BigInteger), null().cast(Integer),
        attempt_events.c.type, attempt_events.c.value,
    ).where(attempt_events.c.world_id == world, attempt_events.c.attempt_id == attempt)  # fmt: skip
    both = union_all(
        by_workers.where(events.c.sequence > literal(sequence)),
        by_control.where(attempt_events.c.sequence > literal(sequence)),
    )
    rows = tx.execute(both.order_by(both.selected_columns.sequence))
    return [
        Written(row[0], row[1], row[2], row[3], row[4], row[5], row[6], _value(row[7]))
        for row in rows
    ]


def _value(data: bytes) -> Mapping[str, Json]:
    value = parse(bytes(data))
    return value if isinstance(value, Mapping) else {"value": value}
