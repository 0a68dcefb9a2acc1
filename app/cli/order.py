"""From what was typed to a dispatched attempt."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.cli.acting import default_world
from app.cli.base import inspect, started_from
from app.domain.authority import Principal, require
from app.domain.board import Column
from app.domain.digest import text
from app.domain.errors import BadInput, IdempotencyConflict
from app.domain.executor import COMMAND, agents
from app.domain.extent import WHOLE, Extent, check_depth, check_folders
from app.domain.identity import WorldId
from app.domain.scope import check_patterns
from app.domain.work_order import (
    LONGEST_TITLE,
    MOST_PARALLEL,
    PLAIN,
    Agent,
    MergeStrategy,
    Specification,
    Style,
    shortened,
)
from app.repository.source import Source
from app.store.engine import Store
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.move import move
from app.transitions.submit import submit

_LONGEST_TITLE = 72  #: of a title that is the command
_READY_BECAUSE = "approved at the command line"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was typed, whatever the repository."""

    paths: tuple[str, ...]
    checks: tuple[str, ...]
    command: tuple[str, ...]
    title: str | None
    timeout: timedelta
    check_timeout: timedelta
    serial: bool = False
    style: Style = PLAIN
    agent: Agent | None = None  #: in place of a command
    checkout: Extent = WHOLE


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
    repository: str  #: id
    base: Base  #: what the work starts from


def read(wanted: Wanted, repository: str, base: str | None) -> Order:
    """Check what was typed and look at the repository; nothing is changed, nothing is started."""
    check(wanted)
    return order_of(wanted, inspect(repository, base))


def check(wanted: Wanted) -> None:
    """Refuse what no repository could make sense of."""
    asked = () if wanted.agent is None else (wanted.agent.prompt,)
    for word in (*wanted.command, *asked, *wanted.checks, *wanted.paths):
        if text(word) != word:
            raise BadInput(
                f"{word!r} cannot be kept exactly: it is not UTF-8 in Unicode form NFC",
                hint="put it into a script in the repository, and run that",
            )
    check_patterns(wanted.paths)
    for one in wanted.checks:
        if not one.strip():
            raise BadInput("a check is empty", hint="give --check a shell command")
    _title(wanted)


def agent_of(name: str | None, words: tuple[str, ...]) -> Agent | None:
    """The agent of that name, asked in one text; None where a command is meant."""
    if name is None:
        return None
    if name not in (known := agents()):
        raise BadInput(
            f"no agent {name!r} is known here", hint=f"give --agent {'|'.join(sorted(known))}"
        )
    if len(words) != 1 or not words[0].strip():
        raise BadInput("an agent is asked in one text", hint="put the whole of it in quotes")
    return Agent(name, words[0])


def extent_of(
    folders: tuple[str, ...], depth: int | None, *, submodules: bool, lfs: bool
) -> Extent:
    """How much of the repository is asked for; UnsafePath and BadInput for what cannot be."""
    return Extent(check_folders(folders), check_depth(depth), submodules, lfs)


def order_of(wanted: Wanted, source: Source) -> Order:
    """What was asked for, on one repository."""
    merge = MergeStrategy.SERIAL if wanted.serial else MergeStrategy.PARALLEL
    executor = COMMAND if wanted.agent is None else agents()[wanted.agent.name]
    return Order(
        source,
        Specification(
            _title(wanted), source.base, wanted.paths, wanted.command,
            wanted.checks, wanted.timeout, wanted.check_timeout, executor, wanted.agent,
            merge=merge, merge_bound=1 if wanted.serial else MOST_PARALLEL, style=wanted.style,
            checkout=wanted.checkout,
        ),
    )  # fmt: skip


def carry_out(store: Store, home: Path, order: Order, principal: Principal) -> Dispatched:
    """World, repository, work order and task; submitted, approved, ready, and dispatched.

    Whoever may not do all of it does nothing of it.
    """
    world, actor = permitted(store, principal), principal.id
    source = order.source
    repository = add_repository(store, world, actor, source.name, source.url, source.forge)
    base = started_from(home, repository.id, source)
    task = hand_in(store, world, actor, repository.id, order.specification)
    attempt = dispatch(store, world, actor, task, base)
    return Dispatched(world, attempt, repository.id, base)


def permitted(store: Store, principal: Principal) -> WorldId:
    """The default world, for somebody who may take a work order all the way to its dispatch."""
    world = default_world(store, principal)
    for verb in ("add_repository", "draft", "submit", "approve", "move", "dispatch"):
        require(principal, verb, world)
    return world


def hand_in(
    store: Store, world: WorldId, actor: str, repository: str, specification: Specification,
    *, key: str | None = None,
) -> str:  # fmt: skip
    """Draft a work order, submit and approve it; the id of its task, which is ready.

    Under a key each of these happens once, also when it was broken off in the middle; a draft of
    somebody else under that key is IdempotencyConflict.
    """

    def named(verb: str) -> str | None:
        return None if key is None else f"{key}/{verb}"

    new = draft(store, world, actor, repository, specification, key=named("draft"))
    with suppress(IdempotencyConflict):  # under these keys it can only be somebody else's same step
        submit(store, world, actor, new.work_order, key=named("submit"))
    with suppress(IdempotencyConflict):
        approve(store, world, actor, new.work_order, key=named("approve"))
    with suppress(IdempotencyConflict):
        move(store, world, actor, new.task, Column.READY, _READY_BECAUSE, key=named("move"))
    return new.task


def _title(wanted: Wanted) -> str:
    given, agent = wanted.title, wanted.agent
    longest = LONGEST_TITLE if given is not None else _LONGEST_TITLE
    named = shlex.join(wanted.command) if agent is None else agent.prompt
    title = shortened(given if given is not None else named, longest)
    if not title:
        raise BadInput("the title is empty", hint="give --title some words, or leave it away")
    return title
