"""`fencepost queues`: what waits, what runs, and what holds it."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from app import config
from app.cli import queue_told, stack
from app.cli.acting import allowed
from app.cli.shown import age, as_json, listing
from app.domain.errors import BadInput, NotFound
from app.domain.identity import Kind, WorldId
from app.kinds.registry import KINDS
from app.store import limits, worlds
from app.store.engine import Store
from app.store.limits import What
from app.store.views.listing import worlds_listed
from app.store.views.queues import holding, queues_seen
from app.transitions.limit import MOST, MOST_IN_WINDOW, limit
from app.transitions.pause_queue import pause_queue
from app.transitions.resume_queue import resume_queue

_JSON = click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
_REASON = click.option("--reason", required=True, help="Why; it is kept.")


@click.group()
def command() -> None:
    """List, pause, resume and limit the queues between Postgres and Redis."""


@command.command(name="list")
@_JSON
def list_(in_full: bool) -> None:
    """List every queue: both depths, what runs, what is dead, and what holds it back."""
    with stack.joined(config.read()) as found, stack.store_of(found) as store:
        redis = queue_told.redis_of(found.redis_url)
        with store.begin() as tx:
            seen = queues_seen(tx, redis)
    if in_full:
        return as_json(seen)
    listing(
        ("queue", "state", "waiting", "in Redis", "running", "oldest", "dead", "window"),
        [
            (one.queue, one.state, one.waiting, "?" if one.redis is None else one.redis,
             one.running, age(one.oldest), one.dead, one.window)
            for one in seen.queues
        ],
        empty="no queue", then="fencepost queues limit, or pause QUEUE --reason WHY",
    )  # fmt: skip
    for line in queue_told.remarks(seen):
        print(line)
    return None


@command.command()
@click.argument("queue")
@_REASON
def pause(queue: str, reason: str) -> None:
    """Let nothing of a queue begin until it is resumed; what runs goes on."""
    settings, kind = config.read(), _queue(queue)
    with stack.opened(settings) as store:
        actor = allowed(store, settings, "pause_queue")
        back = pause_queue(store, kind, actor, reason)
    print(f"{kind} is paused; {back} deliveries that were sent wait again")
    print(f"next: fencepost queues resume {kind} --reason WHY", file=sys.stderr)


@command.command()
@click.argument("queue")
@_REASON
def resume(queue: str, reason: str) -> None:
    """Let a paused queue send again."""
    settings, kind = config.read(), _queue(queue)
    with stack.opened(settings) as store:
        actor = allowed(store, settings, "resume_queue")
        resume_queue(store, kind, actor, reason)
    print(f"{kind} is resumed")
    print("next: fencepost queues list", file=sys.stderr)


@command.command(name="limit")
@click.argument("queue", required=False)
@click.option("--running", type=click.IntRange(0, MOST), metavar="N",
              help="Activities under way at once, of QUEUE or of all; 0: no limit.")  # fmt: skip
@click.option("--window", type=click.IntRange(0, MOST_IN_WINDOW), metavar="N",
              help="Messages of QUEUE in Redis; 0: as many as the slots need.")  # fmt: skip
@click.option("--waiting", type=click.IntRange(0, MOST), metavar="N",
              help="Work that may wait in a world before dispatch is refused.")  # fmt: skip
@click.option("--world", "name", help="With --waiting: in this world; else in each.")
@click.option("--reason", help="Why; it is kept.")
@_JSON
def limit_(
    queue: str | None, running: int | None, window: int | None, waiting: int | None,
    name: str | None, reason: str | None, in_full: bool,
) -> None:  # fmt: skip
    """Show the limits that hold, or decide some anew; they hold at once, without a restart."""
    settings = config.read()
    kind = None if queue is None else _queue(queue)
    asked = [
        (what, value)
        for what, value in (
            (What.RUNNING, running), (What.WINDOW, window), (What.WAITING, waiting),
        )
        if value is not None
    ]  # fmt: skip
    _check(kind, window, waiting, name)
    with stack.opened(settings) as store:
        if asked:
            if reason is None:
                raise BadInput("a limit is kept with its reason", hint="give --reason")
            actor = allowed(store, settings, "limit")
            world = None if name is None else _world(store, name)
            for what, value in asked:
                of = None if what is What.WAITING else kind
                limit(store, what, value or None, actor, reason, queue=of, world=world)
        _show(store, in_full)


def _check(kind: Kind | None, window: int | None, waiting: int | None, name: str | None) -> None:
    if window is not None and kind is None:
        raise BadInput("a window is one queue's", hint="fencepost queues limit QUEUE --window N")
    if waiting is not None and kind is not None:
        raise BadInput("what waits is limited in worlds, not in a queue", hint="leave QUEUE away")
    if name is not None and waiting is None:
        raise BadInput("--world goes with --waiting", hint="see `fencepost queues limit --help`")


def _show(store: Store, in_full: bool) -> None:
    with store.begin() as tx:
        found = holding(limits.current(tx))
        names = {one.id: one.name for one in worlds_listed(tx)}
    if in_full:
        return as_json([{**asdict(one), "world_name": names.get(one.world or "")} for one in found])
    return listing(
        ("what", "of", "at most", "by", "since", "reason"),
        [queue_told.limit_row(one, names) for one in found],
        empty="no limit holds but the usual windows",
        then="fencepost queues limit [QUEUE] --running N --reason WHY",
    )


def _world(store: Store, name: str) -> WorldId:
    with store.begin() as tx:
        return worlds.named(tx, name)


def _queue(said: str) -> Kind:
    """The queue of this name, or of this ending: `author` for `missions.author`."""
    found = [kind for kind in KINDS if said in (kind, kind.rpartition(".")[2])]
    if len(found) != 1:
        raise NotFound(f"there is no queue {said}", hint=f"there are: {', '.join(KINDS)}")
    return found[0]
