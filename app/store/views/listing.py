"""Worlds, work orders, tasks and attempts as people list them: newest first, with their ages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, case, exists, func, select, true

from app.store.engine import Tx
from app.store.schema import (
    activities,
    attempts,
    repositories,
    steps,
    tasks,
    unknowns,
    work_orders,
    worlds,
)
from app.store.views.age import age

MOST = 200


@dataclass(frozen=True, slots=True)
class WorldLine:
    """One world."""

    id: str
    name: str
    ticks: int
    tasks: int
    active: int  #: attempts under way
    age: timedelta


@dataclass(frozen=True, slots=True)
class WorkOrderLine:
    """One work order."""

    id: str
    state: str
    title: str
    repository: str
    tasks: int
    age: timedelta


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One card of the board."""

    id: str
    column: str
    title: str
    work_order: str
    attempts: int
    age: timedelta


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt: `state` is its outcome, `held` while a person is waited for, or `active`."""

    id: str
    state: str
    number: int
    title: str
    repository: str
    step: str  #: the newest that was dispatched
    task: str
    age: timedelta


def worlds_listed(tx: Tx) -> list[WorldLine]:
    """Every world."""
    of_world = tasks.c.world_id == worlds.c.world_id
    active = (attempts.c.world_id == worlds.c.world_id) & attempts.c.ended_at.is_(None)
    rows = tx.execute(
        select(
            worlds.c.world_id, worlds.c.name, worlds.c.tick,
            select(func.count()).select_from(tasks).where(of_world).scalar_subquery(),
            select(func.count()).select_from(attempts).where(active).scalar_subquery(),
            age(worlds.c.created_at),
        )
        .order_by(worlds.c.created_at.desc()).limit(MOST)
    )  # fmt: skip
    return [WorldLine(*row) for row in rows]


def work_orders_listed(tx: Tx, within: Collection[str] | None = None) -> list[WorkOrderLine]:
    """The newest work orders of these worlds, or of every world."""
    its_tasks = and_(
        tasks.c.world_id == work_orders.c.world_id,
        tasks.c.work_order_id == work_orders.c.work_order_id,
    )
    rows = tx.execute(
        select(
            work_orders.c.work_order_id, work_orders.c.state, work_orders.c.title,
            repositories.c.name,
            select(func.count()).select_from(tasks).where(its_tasks).scalar_subquery(),
            age(work_orders.c.created_at),
        )
        .join(repositories, of_repository())
        .where(true() if within is None else work_orders.c.world_id.in_(within))
        .order_by(work_orders.c.created_at.desc()).limit(MOST)
    )  # fmt: skip
    return [WorkOrderLine(*row) for row in rows]


def tasks_listed(tx: Tx) -> list[TaskLine]:
    """The newest tasks of every world."""
    its_attempts = of_task()
    rows = tx.execute(
        select(
            tasks.c.task_id, tasks.c.board_column, tasks.c.title, tasks.c.work_order_id,
            select(func.count()).select_from(attempts).where(its_attempts).scalar_subquery(),
            age(tasks.c.created_at),
        )
        .order_by(tasks.c.created_at.desc()).limit(MOST)
    )  # fmt: skip
    return [TaskLine(*row) for row in rows]


def attempts_listed(tx: Tx, *, active: bool = False) -> list[AttemptLine]:
    """The newest attempts of every world, or those alone that have not ended."""
    newest_step = (
        select(steps.c.name)
        .where(steps.c.world_id == attempts.c.world_id, steps.c.activity_id.is_not(None))
        .where(steps.c.attempt_id == attempts.c.attempt_id)
        .order_by(steps.c.position.desc()).limit(1).scalar_subquery()
    )  # fmt: skip
    held = exists().where(
        activities.c.world_id == attempts.c.world_id,
        activities.c.attempt_id == attempts.c.attempt_id,
        unknowns.c.world_id == activities.c.world_id, unknowns.c.kind == activities.c.kind,
        unknowns.c.activity_id == activities.c.activity_id, unknowns.c.decided_at.is_(None),
    )  # fmt: skip
    state = func.coalesce(attempts.c.outcome, case((held, "held"), else_="active"))
    query = (
        select(
            attempts.c.attempt_id, state, attempts.c.number,
            tasks.c.title, repositories.c.name, func.coalesce(newest_step, ""),
            attempts.c.task_id, age(attempts.c.created_at),
        )
        .join(tasks, of_task()).join(work_orders, of_work_order())
        .join(repositories, of_repository())
        .order_by(attempts.c.created_at.desc()).limit(MOST)
    )  # fmt: skip
    rows = tx.execute(query.where(attempts.c.ended_at.is_(None)) if active else query)
    return [AttemptLine(*row) for row in rows]


def of_task() -> ColumnElement[bool]:
    """Joins attempts with their task."""
    return (tasks.c.world_id == attempts.c.world_id) & (tasks.c.task_id == attempts.c.task_id)


def of_work_order() -> ColumnElement[bool]:
    """Joins tasks with their work order."""
    return (work_orders.c.world_id == tasks.c.world_id) & (
        work_orders.c.work_order_id == tasks.c.work_order_id
    )


def of_repository() -> ColumnElement[bool]:
    """Joins work orders with their repository."""
    return (repositories.c.world_id == work_orders.c.world_id) & (
        repositories.c.repository_id == work_orders.c.repository_id
    )
