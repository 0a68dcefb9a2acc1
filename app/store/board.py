"""Repositories, work orders, tasks, attempts and their steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy import insert, select, update

from app.domain.board import (
    Column,
    WorkOrderState,
)
from app.domain.digest import Digest, Json, parse
from app.domain.errors import NotFound, TaskOfAnotherWorld
from app.domain.identity import EntityId, WorldId
from app.store.engine import Tx
from app.store.schema import repositories, tasks, work_orders


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
        select(work_orders)
        .where(work_orders.c.world_id == world, work_orders.c.work_order_id == order_id)
    ).one_or_none()  # fmt: skip
    if row is None:
        raise NotFound(
            f"no work order {order_id}", hint="list what there is: `fencepost work-orders list`"
        )
    specification = cast("Mapping[str, Json]", parse(row.bytes))
    return WorkOrder(
        row.work_order_id, row.repository_id, row.title, specification, row.digest,
        WorkOrderState(row.state), row.author, row.second_person, row.approved_digest,
        row.approved_by, EntityId(row.entity_id),
    )  # fmt: skip


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
        if tx.execute(select(tasks.c.task_id).where(tasks.c.task_id == task_id)).first():
            raise TaskOfAnotherWorld(f"task {task_id} belongs to another world")
        raise NotFound(f"no task {task_id}", hint="list what there is: `fencepost tasks list`")
    return Task(
        row.task_id, row.work_order_id, EntityId(row.entity_id), Column(row.board_column),
        row.title, row.parent_id, row.canonical,
    )  # fmt: skip


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
