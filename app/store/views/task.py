"""One task as people see it: its card, its family, its attempts, and what was done to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import func, or_, select

from app.domain.board import Column
from app.domain.digest import parse
from app.domain.errors import NotFound
from app.store.engine import Tx
from app.store.schema import attempts, receipts, tasks
from app.store.views.budget import BudgetSeen, budget_seen


@dataclass(frozen=True, slots=True)
class ChildSeen:
    """A child's card."""

    id: str
    column: str
    title: str
    canonical: bool


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt of the task; `outcome` is none while it is active."""

    id: str
    number: int
    retry: int
    actor: str
    reason: str | None
    created_at: datetime
    ended_at: datetime | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Deed:
    """One receipt that speaks of the task (T07): who did what, why, by which command, and when."""

    tick: int
    at: datetime
    verb: str
    actor: str
    reason: str | None
    key: str | None  #: the command's idempotency key
    before: str | None  #: the column that the card came from, where it was moved
    after: str | None
    attempt: str | None


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """A task with what belongs to it, oldest first."""

    world: str
    id: str
    title: str
    column: str
    work_order: str
    parent: str | None
    canonical: bool
    created_at: datetime
    children: tuple[ChildSeen, ...]
    attempts: tuple[AttemptLine, ...]
    budget: BudgetSeen
    history: tuple[Deed, ...]


def task_seen(tx: Tx, world: str, task: str) -> TaskSeen:
    """A task as its rows and the receipts stand; NotFound."""
    row = tx.execute(
        select(tasks).where(tasks.c.world_id == world, tasks.c.task_id == task)
    ).one_or_none()
    if row is None:
        raise NotFound(f"no task {task}", hint="see `fencepost tasks list`")
    tried = _attempts(tx, world, task)
    return TaskSeen(
        world, task, row.title, row.board_column, row.work_order_id, row.parent_id, row.canonical,
        row.created_at, _children(tx, world, task), tried,
        budget_seen(tx, world, row.work_order_id),
        tuple(_history(tx, world, task, row.tick, [one.id for one in tried])),
    )  # fmt: skip


def _children(tx: Tx, world: str, task: str) -> tuple[ChildSeen, ...]:
    rows = tx.execute(
        select(tasks.c.task_id, tasks.c.board_column, tasks.c.title, tasks.c.canonical)
        .where(tasks.c.world_id == world, tasks.c.parent_id == task).order_by(tasks.c.tick)
    )  # fmt: skip
    return tuple(ChildSeen(*row) for row in rows)


def _attempts(tx: Tx, world: str, task: str) -> tuple[AttemptLine, ...]:
    rows = tx.execute(
        select(
            attempts.c.attempt_id, attempts.c.number, attempts.c.retry, attempts.c.actor,
            attempts.c.reason, attempts.c.created_at, attempts.c.ended_at, attempts.c.outcome,
        )
        .where(attempts.c.world_id == world, attempts.c.task_id == task)
        .order_by(attempts.c.number)
    )  # fmt: skip
    return tuple(AttemptLine(*row) for row in rows)


def _history(tx: Tx, world: str, task: str, since: int, ids: list[str]) -> Iterator[Deed]:
    """Ids are random, so a receipt that speaks of one of these holds it as text, and no other."""
    words = func.convert_from(receipts.c.bytes, "UTF8")
    rows = tx.execute(
        select(receipts.c.tick, receipts.c.recorded_at, receipts.c.bytes)
        .where(receipts.c.world_id == world, receipts.c.tick >= since)
        .where(or_(*[func.strpos(words, one) > 0 for one in (task, *ids)]))
        .order_by(receipts.c.tick)
    )
    for row in rows:
        said = cast("Mapping[str, Any]", parse(bytes(row.bytes)))
        before, after, attempt = _moved(said, task)
        if after is not None or said["verb"] != "observe":
            yield Deed(
                row.tick, row.recorded_at, said["verb"], said["actor"], said["reason"], said["key"],
                before, after, attempt,
            )  # fmt: skip


def _moved(said: Mapping[str, Any], task: str) -> tuple[str | None, str | None, str | None]:
    """Where a receipt took the card from, where to, and for which attempt."""
    moves = [one for one in said["decisions"] if one.get("task") == task and "column" in one]
    if moves:
        return moves[0]["from"], moves[-1]["column"], moves[-1]["attempt"]
    subject = said["subject"]
    if subject.get("task") != task:
        return None, None, subject.get("attempt")
    is_new = said["verb"] in ("draft", "add_child")
    return subject.get("from"), Column.INBOX if is_new else subject.get("to"), None
