"""Everything that happened to an activity, from rows alone, in the order of the times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Table, select

from app.domain.identity import ActivityKey
from app.store.engine import Tx
from app.store.fencing import of_key
from app.store.schema import (
    activities,
    artifacts,
    bindings,
    claims,
    dead_letters,
    deliveries,
    effect_answers,
    effect_calls,
    replays,
    results,
    settlements,
    staged_batches,
    starts,
    unknowns,
    verdicts,
)

Detail = str | int | datetime | None

#: Table → what its rows tell, and the column that says when; a time that is null has not come yet.
TOLD: dict[Table, tuple[tuple[str, str], ...]] = {
    activities: (("activity.admitted", "admitted_at"),),
    deliveries: (
        ("delivery.made", "created_at"),
        ("delivery.sent", "published_at"),
        ("delivery.replaced", "replaced_at"),
    ),
    claims: (("claim.taken", "claimed_at"), ("claim.ended", "ended")),
    bindings: (("operation.bound", "recorded_at"),),
    starts: (("start.recorded", "recorded_at"),),
    effect_calls: (("call.sent", "recorded_at"),),
    effect_answers: (("call.answered", "recorded_at"),),
    artifacts: (("artifact.kept", "recorded_at"),),
    results: (("result.recorded", "recorded_at"),),
    unknowns: (("unknown.opened", "opened_at"), ("unknown.decided", "decided_at")),
    staged_batches: (("result.staged", "staged_at"),),
    settlements: (("activity.settled", "settled_at"),),
    dead_letters: (("letter.kept", "recorded_at"),),
    replays: (("letter.replayed", "replayed_at"),),
    verdicts: (("claim.refused", "recorded_at"),),
}

#: Keys, which every entry carries already, and what is long or secret.
_LEFT_OUT = ("world_id", "kind", "activity_id", "token_hash", "bytes", "request")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened to one activity; the words for it are the reader's."""

    at: datetime
    kind: str
    activity: str
    what: str
    facts: Mapping[str, Detail]


def story_of(tx: Tx, key: ActivityKey) -> list[Entry]:
    """Every entry of an activity, in the order of the database's clock."""
    found = [entry for table in TOLD for entry in _entries(tx, key, table)]
    return sorted(found, key=lambda entry: entry.at)


def _entries(tx: Tx, key: ActivityKey, table: Table) -> list[Entry]:
    columns = [column for column in table.c if column.name not in _LEFT_OUT]
    rows = tx.execute(select(*columns).where(of_key(table, key))).mappings()
    return [
        Entry(facts[column], key.kind, key.activity, what, facts)
        for facts in ({str(name): _detail(value) for name, value in row.items()} for row in rows)
        for what, column in TOLD[table]
        if facts[column] is not None
    ]


def _detail(value: Any) -> Any:
    """A column's value; canonical bytes as their text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
