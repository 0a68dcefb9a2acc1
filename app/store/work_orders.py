"""Work orders as their verbs change them: drafted, approved, revised; and what is open of one."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import and_, insert, select, update

from app.domain.board import Column, WorkOrderState
from app.domain.digest import Digest, Json, canonical, digest
from app.domain.errors import NotFound
from app.domain.identity import EntityId, WorldId
from app.store.engine import Tx
from app.store.schema import attempts, tasks, work_orders


def add(
    tx: Tx, world: WorldId, tick: int, order_id: str, repository_id: str, entity: EntityId,
    specification: Mapping[str, Json], author: str,
) -> None:  # fmt: skip
    """Insert a draft."""
    tx.execute(
        insert(work_orders).values(
            world_id=world, work_order_id=order_id, repository_id=repository_id, entity_id=entity,
            tick=tick, state=WorkOrderState.DRAFT, author=author, **_columns(specification),
        )
    )  # fmt: skip


def approve(
    tx: Tx, world: WorldId, order_id: str, state: WorkOrderState, approved: Digest, by: str
) -> None:
    """Bind a work order to the digest that was approved, and by whom (S05, by a CHECK)."""
    _change(
        tx, world, order_id, state=state, approved_digest=approved, approved_by=by
    )  # fmt: skip


def revise(
    tx: Tx, world: WorldId, order_id: str, state: WorkOrderState,
    specification: Mapping[str, Json], author: str,
) -> None:  # fmt: skip
    """Say something else from now on; the approval of what it said before is gone."""
    _change(
        tx, world, order_id, state=state, author=author, approved_digest=None, approved_by=None,
        **_columns(specification),
    )  # fmt: skip


def first_task(tx: Tx, world: WorldId, order_id: str) -> str:
    """The id of the task that was drafted with a work order; NotFound."""
    found: str | None = tx.execute(
        select(tasks.c.task_id)
        .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
        .order_by(tasks.c.tick, tasks.c.entity_id).limit(1)
    ).scalar()  # fmt: skip
    if found is None:
        raise NotFound(f"no work order {order_id}")
    return found


def open_tasks(tx: Tx, world: WorldId, order_id: str) -> list[str]:
    """The tasks of a work order that are neither done nor canceled."""
    return list(
        tx.execute(
            select(tasks.c.task_id)
            .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
            .where(tasks.c.board_column.not_in([Column.DONE, Column.CANCELED]))
            .order_by(tasks.c.entity_id)
        ).scalars()
    )  # fmt: skip


def active_attempts(tx: Tx, world: WorldId, order_id: str) -> list[str]:
    """The attempts of a work order's tasks that have not ended."""
    return list(
        tx.execute(
            select(attempts.c.attempt_id)
            .join(tasks, and_(tasks.c.world_id == attempts.c.world_id,
                              tasks.c.task_id == attempts.c.task_id))
            .where(tasks.c.world_id == world, tasks.c.work_order_id == order_id)
            .where(attempts.c.ended_at.is_(None))
        ).scalars()
    )  # fmt: skip


def _change(tx: Tx, world: WorldId, order_id: str, **values: object) -> None:
    tx.execute(
        update(work_orders)
        .where(work_orders.c.world_id == world, work_orders.c.work_order_id == order_id)
        .values(**values)
    )


def _columns(specification: Mapping[str, Json]) -> dict[str, object]:
    """The columns that say again what the canonical bytes hold."""
    data = canonical(specification)
    return {
        "title": specification["title"], "second_person": specification["second_person"],
        "bytes": data, "digest": digest(data),
    }  # fmt: skip
