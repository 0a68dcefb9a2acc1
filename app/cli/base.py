"""What a task's work starts from, as its source has it now."""

from __future__ import annotations

from pathlib import Path

from app.domain.identity import WorldId
from app.kinds.reading import string
from app.repository.mirror import base_branch, open_mirror, refresh
from app.repository.source import inspect
from app.store import board
from app.store.engine import Store
from app.transitions.dispatch import Base


def base_of(store: Store, home: Path, world: WorldId, task: str) -> Base:
    """The base that the task's work order names, its newest commit fetched into the mirror."""
    with store.begin() as tx:
        order = board.work_order(tx, world, board.task(tx, world, task).work_order)
        repository = board.repository(tx, world, order.repository)
    source = inspect(repository.url, string(order.specification, "base"))
    return Base(base_branch(source), refresh(open_mirror(home / "forge", repository.id), source))
