"""Finding what an id, or the beginning of one, names."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Table, select

from app.domain.errors import Ambiguous, NotFound
from app.store.engine import Tx
from app.store.schema import activities, attempts, repositories, tasks, work_orders

_NAMED: tuple[tuple[str, Table, str], ...] = (
    ("attempt", attempts, "attempt_id"),
    ("task", tasks, "task_id"),
    ("work order", work_orders, "work_order_id"),
    ("repository", repositories, "repository_id"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """One thing of one world."""

    what: str  #: "attempt", "task", "work order", "repository" or "activity"
    world: str
    id: str
    kind: str | None = None  #: of an activity


def find(tx: Tx, prefix: str, *whats: str) -> Found:
    """The one thing whose id begins so; NotFound or Ambiguous.

    An activity may be named by its id alone or as `kind/id`.
    """
    found = [
        one for what, table, column in _NAMED if not whats or what in whats
        for one in _begin(tx, what, table, column, prefix)
    ]  # fmt: skip
    if not whats or "activity" in whats:
        found += _activities(tx, prefix)
    exact = [one for one in found if one.id == prefix]
    match exact or found:
        case [one]:
            return one
        case []:
            kinds = " or ".join(whats) or "thing"
            raise NotFound(f"no {kinds} has an id that begins with {prefix!r}")
        case several:
            names = ", ".join(_named(one) for one in several[:4])
            raise Ambiguous(f"{prefix!r} may be {names}")


def _begin(tx: Tx, what: str, table: Table, column: str, prefix: str) -> list[Found]:
    rows = tx.execute(
        select(table.c.world_id, table.c[column])
        .where(_begins(table, column, prefix))
        .limit(5)
    )  # fmt: skip
    return [Found(what, row[0], row[1]) for row in rows]


def _activities(tx: Tx, prefix: str) -> list[Found]:
    kind, _, beginning = prefix.rpartition("/")
    query = select(activities.c.world_id, activities.c.activity_id, activities.c.kind).where(
        _begins(activities, "activity_id", beginning)
    )
    rows = tx.execute((query.where(activities.c.kind == kind) if kind else query).limit(5))
    return [Found("activity", row[0], row[1], row[2]) for row in rows]


def _begins(table: Table, column: str, prefix: str) -> ColumnElement[bool]:
    return table.c[column].startswith(prefix, autoescape=True)


def _named(one: Found) -> str:
    return f"{one.what} {one.kind}/{one.id[:12]}" if one.kind else f"{one.what} {one.id}"
