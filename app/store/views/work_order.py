"""One work order as people see it: what it says, how far it has come, and who said what of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import func, select

from app.domain.digest import Digest, Json, parse
from app.domain.identity import WorldId
from app.store import board
from app.store.engine import Tx
from app.store.schema import attempts, principals, receipts, tasks

#: The verbs that are about a work order itself.
VERBS = ("draft", "submit", "approve", "reject", "revise", "complete", "cancel_work_order")


@dataclass(frozen=True, slots=True)
class TaskOf:
    """One of its tasks."""

    id: str
    column: str
    title: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Deed:
    """One receipt that speaks of it: who did what to it, and why."""

    tick: int
    at: datetime
    verb: str
    actor: str  #: name
    reason: str | None
    digest: Digest  #: of what it said then


@dataclass(frozen=True, slots=True)
class WorkOrderSeen:
    """A work order with what belongs to it, oldest first."""

    world: str
    id: str
    state: str
    title: str
    repository: str
    repository_name: str
    url: str
    author: str  #: name, of the latest revision
    second_person: bool
    digest: Digest
    approved_digest: Digest | None
    approved_by: str | None  #: name
    specification: Mapping[str, Json]
    tasks: tuple[TaskOf, ...]
    history: tuple[Deed, ...]


def work_order_seen(tx: Tx, world: WorldId, order_id: str) -> WorkOrderSeen:
    """A work order as its rows and the receipts stand; NotFound."""
    order = board.work_order(tx, world, order_id)
    repository = board.repository(tx, world, order.repository)
    names = _names(tx)
    return WorkOrderSeen(
        world=world,
        id=order.id,
        state=order.state,
        title=order.title,
        repository=repository.id,
        repository_name=repository.name,
        url=repository.url,
        author=names[order.author],
        second_person=order.second_person,
        digest=order.digest,
        approved_digest=order.approved,
        approved_by=names[order.approved_by] if order.approved_by else None,
        specification=order.specification,
        tasks=_tasks(tx, world, order_id),
        history=tuple(_history(tx, world, order_id, names)),
    )


def _names(tx: Tx) -> dict[str, str]:
    rows = tx.execute(select(principals.c.principal_id, principals.c.name))
    return {row.principal_id: row.name for row in rows}


def _tasks(tx: Tx, world: str, order_id: str) -> tuple[TaskOf, ...]:
    of_task = (attempts.c.world_id == tasks.c.world_id) & (attempts.c.task_id == tasks.c.task_id)
    rows = tx.execute(
        select(
            tasks.c.task_id, tasks.c.board_column, tasks.c.title,
            select(func.count()).select_from(attempts).where(of_task).scalar_subquery(),
        )
        .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
        .order_by(tasks.c.tick, tasks.c.entity_id)
    )  # fmt: skip
    return tuple(TaskOf(*row) for row in rows)


def _history(tx: Tx, world: str, order_id: str, names: Mapping[str, str]) -> Iterator[Deed]:
    """Ids are random, so a receipt that speaks of one holds it as text, and no other."""
    words = func.convert_from(receipts.c.bytes, "UTF8")
    rows = tx.execute(
        select(receipts.c.tick, receipts.c.recorded_at, receipts.c.bytes)
        .where(receipts.c.world_id == world, receipts.c.verb.in_(VERBS))
        .where(func.strpos(words, order_id) > 0)
        .order_by(receipts.c.tick)
    )
    for row in rows:
        said = cast("Mapping[str, Any]", parse(bytes(row.bytes)))
        subject = said["subject"]
        yield Deed(
            row.tick, row.recorded_at, said["verb"], names[said["actor"]], said["reason"],
            Digest(subject.get("digest", subject.get("specification"))),
        )  # fmt: skip
