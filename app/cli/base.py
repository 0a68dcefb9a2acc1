"""Where work starts: a repository as it was named, and the newest commit of its base."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app import config
from app.domain.errors import BaseMissing
from app.domain.identity import WorldId
from app.domain.pull_request import LOCAL_FORGE
from app.github.account import CredentialMissing, account_of
from app.github.address import FORGE, address_of
from app.github.hub import Hub
from app.kinds.reading import string
from app.repository import source
from app.repository.address import is_url
from app.repository.mirror import base_branch, open_mirror, refresh
from app.repository.source import Source
from app.store import board
from app.store.board import Repository
from app.store.engine import Store
from app.transitions.dispatch import Base


def inspect(repository: str, base: str | None) -> Source:
    """Look at a repository, by path or URL, and tell which forge it is of.

    A URL on the host of GitHub is GitHub's, if a credential is set; all else is the local forge's.
    """
    account = account_of(config.read())
    address = address_of(repository, account) if is_url(repository) else None
    if address is None or not account.is_set:
        return source.inspect(repository, base)
    access = Hub(account).repository(address.url).access
    return replace(source.inspect(address.url, base, access), forge=FORGE)


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
    """The newest commit of a base; CredentialMissing where it is at GitHub and none is set."""
    found = inspect(repository.url, named)
    if found.forge != repository.forge:
        raise CredentialMissing(f"{repository.url} has its requests at {repository.forge}")
    return started_from(home, repository.id, found)


def started_from(home: Path, repository_id: str, found: Source) -> Base:
    """What work starts from: fetched into the local forge's mirror, else as it is at the forge."""
    if found.forge == LOCAL_FORGE:
        mirror = open_mirror(home / "forge", repository_id)
        return Base(base_branch(found), refresh(mirror, found))
    if found.is_detached:
        raise BaseMissing(
            f"{found.base} is no branch of {found.url}: a request there goes into a branch",
            hint="name a branch with --base",
        )
    return Base(found.base, found.sha)
