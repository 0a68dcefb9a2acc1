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
from app.domain.digest import Digest, Json, digest, parse
from app.domain.errors import NotFound
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
    approved: Digest | None


@dataclass(frozen=True, slots=True)
class Task:
    """A card of the board."""

    id: str
    work_order: str
    entity: EntityId
    column: Column
    title: str


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


def add_work_order(
    tx: Tx,
    world: WorldId,
    tick: int,
    order_id: str,
    repository_id: str,
    title: str,
    specification: bytes,
) -> None:
    """Insert a draft."""
    tx.execute(
        insert(work_orders).values(
            world_id=world, work_order_id=order_id, repository_id=repository_id, title=title,
            bytes=specification, digest=digest(specification), tick=tick,
            state=WorkOrderState.DRAFT,
        )
    )  # fmt: skip


def work_order(tx: Tx, world: WorldId, order_id: str) -> WorkOrder:
    """A work order; NotFound."""
    row = tx.execute(
        select(work_orders)
        .where(work_orders.c.world_id == world, work_orders.c.work_order_id == order_id)
    ).one_or_none()  # fmt: skip
    if row is None:
        raise NotFound(f"no work order {order_id}")
    specification = cast("Mapping[str, Json]", parse(row.bytes))
    return WorkOrder(
        row.work_order_id, row.repository_id, row.title, specification, row.digest,
        WorkOrderState(row.state), row.approved_digest,
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
    tx: Tx, world: WorldId, tick: int, task_id: str, order_id: str, entity: EntityId, title: str
) -> None:
    """Insert a card into the inbox."""
    tx.execute(
        insert(tasks).values(
            world_id=world, task_id=task_id, work_order_id=order_id, entity_id=entity,
            board_column=Column.INBOX, title=title, tick=tick, canonical=False,
        )
    )  # fmt: skip


def task(tx: Tx, world: WorldId, task_id: str) -> Task:
    """A card; NotFound."""
    row = tx.execute(
        select(tasks).where(tasks.c.world_id == world, tasks.c.task_id == task_id)
    ).one_or_none()
    if row is None:
        raise NotFound(f"no task {task_id}")
    return Task(
        row.task_id, row.work_order_id, EntityId(row.entity_id), Column(row.board_column), row.title
    )


def move_task(tx: Tx, world: WorldId, task_id: str, column: Column) -> None:
    """Hang a card elsewhere."""
    tx.execute(
        update(tasks).where(tasks.c.world_id == world, tasks.c.task_id == task_id)
        .values(board_column=column)
    )  # fmt: skip
