"""From what was typed to a dispatched attempt."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.cli.acting import default_world
from app.domain.authority import Principal, require
from app.domain.board import Column
from app.domain.digest import text
from app.domain.errors import BadInput
from app.domain.identity import WorldId
from app.domain.scope import check_patterns
from app.domain.work_order import (
    LONGEST_TITLE,
    MOST_PARALLEL,
    MergeStrategy,
    Specification,
    shortened,
)
from app.repository.mirror import Mirror, base_branch, open_mirror, refresh
from app.repository.source import Source, inspect
from app.store.engine import Store
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.move import move
from app.transitions.submit import submit

_LONGEST_TITLE = 72  #: of a title that is the command


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for, checked as far as the repository alone can tell."""

    source: Source
    specification: Specification


@dataclass(frozen=True, slots=True)
class Dispatched:
    """The attempt that came of it."""

    world: WorldId
    attempt: str
    base: Base  #: what the work starts from
    mirror: Mirror  #: where that is


def read(
    repository: str, base: str | None, paths: tuple[str, ...], checks: tuple[str, ...],
    command: tuple[str, ...], title: str | None, timeout: timedelta, check_timeout: timedelta,
    *, serial: bool = False,
) -> Order:  # fmt: skip
    """Check what was typed and look at the repository; nothing is changed, nothing is started."""
    for word in (*command, *checks, *paths):
        if text(word) != word:
            raise BadInput(
                f"{word!r} cannot be kept exactly: it is not UTF-8 in Unicode form NFC",
                hint="put it into a script in the repository, and run that",
            )
    check_patterns(paths)
    for check in checks:
        if not check.strip():
            raise BadInput("a check is empty", hint="give --check a shell command")
    source = inspect(repository, base)
    name = _title(title, command)
    merge = MergeStrategy.SERIAL if serial else MergeStrategy.PARALLEL
    return Order(
        source,
        Specification(
            name, source.base, paths, command, checks, timeout, check_timeout,
            merge=merge, merge_bound=1 if serial else MOST_PARALLEL,
        ),
    )  # fmt: skip


def carry_out(store: Store, home: Path, order: Order, principal: Principal) -> Dispatched:
    """World, repository, work order and task; submitted, approved, ready, and dispatched.

    Whoever may not do all of it does nothing of it.
    """
    world, actor = default_world(store, principal), principal.id
    for verb in ("add_repository", "draft", "submit", "approve", "move", "dispatch"):
        require(principal, verb, world)
    repository = add_repository(store, world, actor, order.source.name, order.source.url)
    mirror = open_mirror(home / "forge", repository.id)
    base = Base(base_branch(order.source), refresh(mirror, order.source))
    new = draft(store, world, actor, repository.id, order.specification)
    submit(store, world, actor, new.work_order)
    approve(store, world, actor, new.work_order)
    move(store, world, actor, new.task, Column.READY, "approved at the command line")
    attempt = dispatch(store, world, actor, new.task, base)
    return Dispatched(world, attempt, base, mirror)


def _title(given: str | None, command: tuple[str, ...]) -> str:
    longest = LONGEST_TITLE if given is not None else _LONGEST_TITLE
    title = shortened(given if given is not None else shlex.join(command), longest)
    if not title:
        raise BadInput("the title is empty", hint="give --title some words, or leave it away")
    return title
