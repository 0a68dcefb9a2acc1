"""The gates that wait for a person, and what was decided at the others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select

from app.store.engine import Tx
from app.store.schema import attempts, gates, tasks
from app.store.views.age import age


@dataclass(frozen=True, slots=True)
class GateLine:
    """One gate."""

    world: str
    attempt: str
    name: str
    title: str
    decision: str | None  #: None: it waits
    decided_by: str | None
    reason: str | None
    age: timedelta


def gates_listed(tx: Tx, *, is_open: bool = False, limit: int = 200) -> list[GateLine]:
    """The newest gates; with `is_open`, those alone that wait."""
    query = (
        select(gates, tasks.c.title, age(gates.c.opened_at).label("age"))
        .join(
            attempts,
            (attempts.c.world_id == gates.c.world_id)
            & (attempts.c.attempt_id == gates.c.attempt_id),
        )
        .join(
            tasks,
            (tasks.c.world_id == attempts.c.world_id) & (tasks.c.task_id == attempts.c.task_id),
        )
        .order_by(gates.c.opened_at.desc()).limit(limit)
    )  # fmt: skip
    if is_open:
        query = query.where(gates.c.decided_at.is_(None))
    return [
        GateLine(
            row.world_id, row.attempt_id, row.step, row.title,
            row.decision, row.decided_by, row.reason, row.age,
        )
        for row in tx.execute(query)
    ]  # fmt: skip
