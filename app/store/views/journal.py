"""What attempts wrote down while they ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, tuple_

from app.domain.digest import Json, parse
from app.domain.identity import ActivityKey
from app.store.engine import Tx
from app.store.fencing import of_key
from app.store.schema import events

Place = tuple[int, int]  #: fence and number

START: Place = (0, 0)


@dataclass(frozen=True, slots=True)
class Written:
    """One event of one claim."""

    at: datetime
    kind: str
    activity: str
    fence: int
    n: int
    type: str
    value: Mapping[str, Json]

    @property
    def place(self) -> Place:
        """Where it stands in its activity."""
        return self.fence, self.n


def written_after(tx: Tx, key: ActivityKey, place: Place, limit: int = 500) -> list[Written]:
    """The next events of an activity after a place, in order."""
    rows = tx.execute(
        select(events.c.recorded_at, events.c.fence, events.c.n, events.c.type, events.c.value)
        .where(of_key(events, key), tuple_(events.c.fence, events.c.n) > place)
        .order_by(events.c.fence, events.c.n).limit(limit)
    )  # fmt: skip
    return [
        Written(row[0], key.kind, key.activity, row[1], row[2], row[3], _value(row[4]))
        for row in rows
    ]


def _value(data: bytes) -> Mapping[str, Json]:
    value = parse(bytes(data))
    return value if isinstance(value, Mapping) else {"value": value}
