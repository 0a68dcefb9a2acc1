"""What a task's work starts from, as its source has it now."""

from __future__ import annotations

from pathlib import Path

from app.domain.identity import WorldId
from app.kinds.reading import string
from app.repository.mirror import base_branch, open_mirror, refresh
from app.repository.source import inspect
from app.store import board
from app.store.board import Repository
from app.store.engine import Store
from app.transitions.dispatch import Base


def base_of(store: Store, home: Path, world: WorldId, task: str) -> Base:
    """The base that the task's work order names, its newest commit fetched into the mirror."""
    repository, named = base_named(store, world, task)
    return fetched(home, repository, named)


def base_named(store: Store, world: WorldId, task: str) -> tuple[Repository, str]:
    """The repository and the base that the task's work order names."""
    with store.begin() as tx:
        order = board.work_order(tx, world, board.task(tx, world, task).work_order)
        repository = board.repository(tx, world, order.repository)
    return repository, string(order.specification, "base")


def fetched(home: Path, repository: Repository, named: str) -> Base:
    """The newest commit of a base, fetched into the repository's mirror."""
    source = inspect(repository.url, named)
    return Base(base_branch(source), refresh(open_mirror(home / "forge", repository.id), source))
