"""Repositories, work orders, tasks, attempts and their steps."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, bindparam, insert, select, true, update

from app.domain.board import Column, WorkOrderState
from app.domain.digest import Digest, Json, stored
from app.domain.errors import NotFound, TaskOfAnotherWorld
from app.domain.identity import EntityId, WorldId
from app.store.engine import Tx
from app.store.schema import attempts, repositories, tasks, work_orders


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that a world knows."""

    id: str
    name: str
    url: str
    forge: str


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """The authorisation: what may run, on what, within which bounds."""

    id: str
    repository: str
    title: str
    specification: Mapping[str, Json]
    digest: Digest
    state: WorkOrderState
    author: str  #: the principal of the latest revision
    second_person: bool
    approved: Digest | None
    approved_by: str | None
    entity: EntityId


@dataclass(frozen=True, slots=True)
class Task:
    """A card of the board."""

    id: str
    work_order: str
    entity: EntityId
    column: Column
    title: str
    parent: str | None = None
    canonical: bool = False  #: the child of its parent that is to be dispatched (T01)


def repository_at(tx: Tx, world: WorldId, url: str) -> Repository | None:
    """The repository of this address, if the world knows it."""
    row = tx.execute(
        select(repositories).where(repositories.c.world_id == world, repositories.c.url == url)
    ).one_or_none()
    return Repository(row.repository_id, row.name, row.url, row.forge) if row else None


def repository(tx: Tx, world: WorldId, repository_id: str) -> Repository:
    """A repository by its id; NotFound."""
    row = tx.execute(
        select(repositories)
        .where(repositories.c.world_id == world, repositories.c.repository_id == repository_id)
    ).one_or_none()  # fmt: skip
    if row is None:
        raise NotFound(f"no repository {repository_id}")
    return Repository(row.repository_id, row.name, row.url, row.forge)


def add_repository(tx: Tx, world: WorldId, tick: int, new: Repository) -> None:
    """Insert a repository."""
    tx.execute(
        insert(repositories).values(
            world_id=world,
            repository_id=new.id,
            name=new.name,
            url=new.url,
            forge=new.forge,
            tick=tick,
        )
    )


def work_order(tx: Tx, world: WorldId, order_id: str) -> WorkOrder:
    """A work order; NotFound."""
    row = tx.execute(
        select(*_of_order())
        .where(work_orders.c.world_id == world, work_orders.c.work_order_id == order_id)
    ).one_or_none()  # fmt: skip
    if row is None:
        raise NotFound(
            f"no work order {order_id}", hint="list what there is: `fencepost work-orders list`"
        )
    return _order_from(row)


def set_work_order_state(
    tx: Tx, world: WorldId, order_id: str, state: WorkOrderState, approved: Digest | None
) -> None:
    """Move a work order on, with the digest that was approved."""
    tx.execute(
        update(work_orders)
        .where(work_orders.c.world_id == world, work_orders.c.work_order_id == order_id)
        .values(state=state, approved_digest=approved)
    )


def add_task(
    tx: Tx, world: WorldId, tick: int, task_id: str, order_id: str, entity: EntityId, title: str,
    *, parent: str | None = None, canonical: bool = False,
) -> None:  # fmt: skip
    """Insert a card into the inbox; a second canonical child is CanonicalChildExists."""
    tx.execute(
        insert(tasks).values(
            world_id=world, task_id=task_id, work_order_id=order_id, entity_id=entity,
            board_column=Column.INBOX, title=title, tick=tick,
            parent_id=parent, canonical=canonical,
        )
    )  # fmt: skip


def task(tx: Tx, world: WorldId, task_id: str) -> Task:
    """A card; NotFound, or TaskOfAnotherWorld without a word about which."""
    row = tx.execute(
        select(tasks).where(tasks.c.world_id == world, tasks.c.task_id == task_id)
    ).one_or_none()
    if row is None:
        raise _no_task(tx, task_id)
    return task_from(row)


@dataclass(frozen=True, slots=True)
class Laid:
    """A task with all that decides whether it may be dispatched."""

    task: Task
    order: WorkOrder
    repository: Repository
    canonical_child: str | None
    latest: Row[Any] | None  #: attempt_id, number and outcome of its newest attempt


def laid(tx: Tx, world: WorldId, task_id: str) -> Laid:
    """A task as a dispatch needs it, by one question; refused as `task` does."""
    row = tx.execute(_laid(), {"world": world, "task": task_id}).one_or_none()
    if row is None:
        raise _no_task(tx, task_id)
    repository = Repository(row.repository_id, row.repository_name, row.url, row.forge)
    latest = None if row.attempt_id is None else row
    return Laid(task_from(row), _order_from(row), repository, row.child, latest)


def task_from(row: Row[Any]) -> Task:
    """The card of a row."""
    return Task(
        row.task_id, row.work_order_id, EntityId(row.entity_id), Column(row.board_column),
        row.title, row.parent_id, row.canonical,
    )  # fmt: skip


def _no_task(tx: Tx, task_id: str) -> NotFound | TaskOfAnotherWorld:
    if tx.execute(select(tasks.c.task_id).where(tasks.c.task_id == task_id)).first():
        return TaskOfAnotherWorld(f"task {task_id} belongs to another world")
    return NotFound(f"no task {task_id}", hint="list what there is: `fencepost tasks list`")


def canonical_child(tx: Tx, world: WorldId, task_id: str) -> str | None:
    """The id of a task's canonical child, if it has one."""
    found: str | None = tx.execute(
        select(tasks.c.task_id)
        .where(tasks.c.world_id == world, tasks.c.parent_id == task_id, tasks.c.canonical)
    ).scalar()  # fmt: skip
    return found


def move_task(tx: Tx, world: WorldId, task_id: str, column: Column) -> None:
    """Hang a card elsewhere."""
    tx.execute(
        update(tasks).where(tasks.c.world_id == world, tasks.c.task_id == task_id)
        .values(board_column=column)
    )  # fmt: skip


def _order_from(row: Row[Any]) -> WorkOrder:
    specification = stored(row.bytes)
    return WorkOrder(
        row.work_order_id, row.repository_id, row.order_title, specification, row.digest,
        WorkOrderState(row.state), row.author, row.second_person, row.approved_digest,
        row.approved_by, EntityId(row.order_entity),
    )  # fmt: skip


def _of_order() -> list[ColumnElement[Any]]:
    """The columns of a work order, by names that a task's do not have."""
    order = work_orders.c
    return [
        order.work_order_id, order.repository_id, order.title.label("order_title"), order.bytes,
        order.digest, order.state, order.author, order.second_person, order.approved_digest,
        order.approved_by, order.entity_id.label("order_entity"),
    ]  # fmt: skip


@functools.cache
def _laid() -> Select[Any]:
    children = tasks.alias("children")
    child = (
        select(children.c.task_id)
        .where(children.c.world_id == tasks.c.world_id)
        .where(children.c.parent_id == tasks.c.task_id, children.c.canonical)
        .scalar_subquery()
    )
    newest = (
        select(attempts.c.attempt_id, attempts.c.number, attempts.c.outcome)
        .where(attempts.c.world_id == tasks.c.world_id, attempts.c.task_id == tasks.c.task_id)
        .order_by(attempts.c.number.desc()).limit(1).lateral()
    )  # fmt: skip
    same = work_orders.c.world_id == tasks.c.world_id
    known = repositories.c.world_id == work_orders.c.world_id
    return (
        select(
            tasks.c.task_id, tasks.c.entity_id, tasks.c.board_column, tasks.c.title,
            tasks.c.parent_id, tasks.c.canonical, *_of_order(), child.label("child"),
            repositories.c.name.label("repository_name"), repositories.c.url, repositories.c.forge,
            newest.c.attempt_id, newest.c.number, newest.c.outcome,
        )
        .join(work_orders, same & (work_orders.c.work_order_id == tasks.c.work_order_id))
        .join(repositories, known & (repositories.c.repository_id == work_orders.c.repository_id))
        .outerjoin(newest, true())
        .where(tasks.c.world_id == bindparam("world"), tasks.c.task_id == bindparam("task"))
    )  # fmt: skip
