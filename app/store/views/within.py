"""Which attempts a thing is about."""

from __future__ import annotations

from sqlalchemy import select

from app.store.engine import Tx
from app.store.schema import activities, attempts, tasks, work_orders
from app.store.views.finding import Found
from app.store.views.listing import of_task, of_work_order


def attempts_within(tx: Tx, found: Found) -> list[str]:
    """The attempts of a task, a work order or a repository, or the one that an id belongs to."""
    query = (
        select(attempts.c.attempt_id)
        .join(tasks, of_task()).join(work_orders, of_work_order())
        .where(attempts.c.world_id == found.world)
        .order_by(attempts.c.created_at).limit(50)
    )  # fmt: skip
    match found.what:
        case "attempt":
            query = query.where(attempts.c.attempt_id == found.id)
        case "task":
            query = query.where(attempts.c.task_id == found.id)
        case "work order":
            query = query.where(tasks.c.work_order_id == found.id)
        case "repository":
            query = query.where(work_orders.c.repository_id == found.id)
        case _:
            its = select(activities.c.attempt_id).where(
                activities.c.world_id == found.world,
                activities.c.kind == found.kind,
                activities.c.activity_id == found.id,
            )
            query = query.where(attempts.c.attempt_id.in_(its))
    return list(tx.execute(query).scalars())
