"""The Celery tasks: one per kind, named like it; each parses its message and calls the runner."""

from __future__ import annotations

from typing import Any

from celery import Celery

from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, Kind, WorldId
from app.events import Moment, emit
from app.kinds.registry import KINDS
from workers import runner
from workers.occupancy import Occupancy
from workers.worker import Message, Worker


def register(app: Celery, worker: Worker, occupancy: Occupancy) -> None:
    """Give the application its tasks, bound to this process's worker."""
    for kind in KINDS:
        app.task(name=kind, shared=False)(_task(worker, occupancy))


def _task(worker: Worker, occupancy: Occupancy) -> Any:
    def deliver(
        *, world: str, kind: str, activity: str, attempt: str, delivery: int, v: int
    ) -> None:
        key = ActivityKey(WorldId(world), Kind(kind), ActivityId(activity))
        try:
            with occupancy.taken():
                runner.run(worker, Message(key, DeliveryNumber(delivery)))
        except Exception as fault:
            # our fault: the lease runs out, and another claim goes on
            emit(Moment.TROUBLE, **key.facts(), what=f"{type(fault).__name__}: {fault}")
            raise

    return deliver
