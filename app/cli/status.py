"""`fencepost status`."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta

import click

from app import config
from app.broker.redis import Broker
from app.cli import queue_told, record, stack
from app.cli.logins import Logins
from app.cli.record import Record
from app.cli.shown import age, as_json, painted
from app.config import Settings
from app.disk import Room, room
from app.domain.errors import RedisUnreachable
from app.embedded import process, servers
from app.store.views.fleet import Counts, counts
from app.store.views.queues import SILENT, QueueLine, Redis, queues_seen


@dataclass(frozen=True, slots=True)
class Role:
    """A process of a stack on this machine."""

    name: str
    pid: int
    alive: bool
    since: timedelta


@dataclass(frozen=True, slots=True)
class Status:
    """Everything at one glance."""

    home: str
    servers: str  #: a key of `_SERVERS`
    up: int | None  #: pid of the parent
    roles: list[Role]
    workers: int | None  #: connected to Redis, on any machine; None: Redis does not answer
    queues: tuple[QueueLine, ...]  #: both depths side by side (Q02)
    counts: Counts
    room: Room | None = None  #: on this machine's disk


@click.command()
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def command(in_full: bool) -> None:
    """Show servers, roles, both depths of every queue, and what is under way."""
    settings = config.read()
    up = record.find_up(settings.home)
    where = _servers(settings, up)
    with stack.joined(settings) as found, stack.store_of(found) as store:
        workers, redis = _redis(found)
        with store.begin() as tx:
            queues, totals = queues_seen(tx, redis).queues, counts(tx)
    seen = Status(
        str(settings.home), where, up.pid if up else None, _roles(up), workers,
        queues, totals, room(settings.home, settings.least_disk),
    )  # fmt: skip
    return as_json(seen) if in_full else _tell(seen)


def _servers(settings: Settings, up: Record | None) -> str:
    if (settings.database_url and not up) or (up and not up.embedded):
        return "given"
    if servers.running(settings.home):
        return "embedded"
    return "embedded, being started again" if up else "embedded, at rest"


#: What they are, in words.
_SERVERS = {
    "given": "your own",
    "embedded": "Fencepost's own",
    "embedded, being started again": "Fencepost's own, which had ended and are started again",
    "embedded, at rest": "Fencepost's own, which were stopped: started for this look alone",
}


def _roles(up: Record | None) -> list[Role]:
    now = time.time()
    return [
        Role(name, child.pid, process.is_alive(child.process), timedelta(seconds=now - child.since))
        for name, child in (up.roles if up else {}).items()
    ]


def _redis(found: Logins) -> tuple[int | None, Redis]:
    if not found.redis_url:
        return None, SILENT
    with closing(Broker(found.redis_url, role="cli")) as broker:
        try:
            return broker.connected("worker"), queue_told.said_by(broker)
        except RedisUnreachable:
            return None, SILENT


def _tell(seen: Status) -> None:
    answers = "Postgres and Redis answer"
    if seen.workers is None:
        answers = f"Postgres answers, {painted('Redis does not', 'red')}"
    _row("home", seen.home)
    _row("servers", f"{_SERVERS[seen.servers]}; {answers}")
    _row("stack", f"up, pid {seen.up}" if seen.up else "no `up` runs here")
    for role in seen.roles:
        state = "runs" if role.alive else painted("ended; its parent starts it again", "red")
        _row(role.name, f"pid {role.pid}, {state}, since {age(role.since)}")
    _row("workers", f"{'?' if seen.workers is None else seen.workers} connected")
    if seen.room is not None and not seen.room.is_enough:
        _row("disk", painted(f"{seen.room}: workers here begin nothing", "red"))
    for queue in seen.queues:
        messages = "?" if queue.redis is None else queue.redis
        oldest = f", oldest {age(queue.oldest)}" if queue.oldest else ""
        _row("queue", f"{queue.queue}: {queue.state}, {queue.waiting} in Postgres, "
                      f"{messages} in Redis, {queue.running} running{oldest}")  # fmt: skip
    total = seen.counts
    _row(
        "attempts",
        f"{total.active} active, {total.unknown} unknown, {total.dead} dead letters open",
    )
    rest = "fencepost attempts list" if total.active else "fencepost run -- COMMAND"
    print("next: " + ("fencepost unknown list" if total.unknown else rest))


def _row(name: str, value: str) -> None:
    print(f"{name:<12}{value}")
