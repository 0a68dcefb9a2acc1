"""From what was typed to a dispatched attempt."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.domain.board import Column
from app.domain.digest import text
from app.domain.errors import BadInput
from app.domain.identity import WorldId
from app.domain.scope import check_patterns
from app.domain.work_order import Specification
from app.repository.mirror import base_branch, open_mirror, refresh
from app.repository.source import Source, inspect
from app.store.engine import Store
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.move import move
from app.transitions.open_world import open_world

WORLD = "default"
_LONGEST_TITLE = 72


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


def read(
    repository: str, base: str | None, paths: tuple[str, ...], checks: tuple[str, ...],
    command: tuple[str, ...], title: str | None, timeout: timedelta, check_timeout: timedelta,
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
    return Order(
        source, Specification(name, source.base, paths, command, checks, timeout, check_timeout)
    )


def carry_out(store: Store, home: Path, order: Order) -> Dispatched:
    """World, repository, work order and task; approved, ready, and dispatched."""
    world = open_world(store, WORLD)
    repository = add_repository(store, world, LOCAL, order.source.name, order.source.url)
    sha = refresh(open_mirror(home / "forge", repository.id), order.source)
    new = draft(store, world, LOCAL, repository.id, order.specification)
    approve(store, world, LOCAL, new.work_order)
    move(store, world, LOCAL, new.task, Column.READY, "approved at the command line")
    base = Base(base_branch(order.source), sha)
    return Dispatched(world, dispatch(store, world, LOCAL, new.task, base))


def _title(given: str | None, command: tuple[str, ...]) -> str:
    words = " ".join((given if given is not None else shlex.join(command)).split())
    clean = "".join(sign for sign in text(words) if sign.isprintable())
    if not clean:
        raise BadInput("the title is empty", hint="give --title some words, or leave it away")
    short = clean if len(clean) <= _LONGEST_TITLE else clean[: _LONGEST_TITLE - 1] + "…"
    return short if given is None else clean[:200]
