"""`fencepost status`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

import click

from app import config
from app.broker.redis import Broker
from app.cli import record, stack
from app.cli.logins import Logins
from app.cli.record import Record
from app.cli.shown import age, as_json, painted
from app.config import Settings
from app.domain.errors import RedisUnreachable
from app.embedded import process, servers
from app.kinds.registry import KINDS
from app.store.views.fleet import Counts, QueueSeen, counts, queues_seen


@dataclass(frozen=True, slots=True)
class Role:
    """A process of a stack on this machine."""

    name: str
    pid: int
    alive: bool
    since: timedelta


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue, both depths side by side (Q02)."""

    postgres: QueueSeen
    redis: int | None  #: messages; None: Redis does not answer


@dataclass(frozen=True, slots=True)
class Status:
    """Everything at one glance."""

    home: str
    servers: str  #: embedded, at rest, or given
    up: int | None  #: pid of the parent
    roles: list[Role]
    workers: int | None  #: connected to Redis, on any machine; None: Redis does not answer
    queues: list[Queue]
    counts: Counts


@click.command()
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def command(in_full: bool) -> None:
    """Show servers, roles, both depths of every queue, and what is under way."""
    settings = config.read()
    up = record.find_up(settings.home)
    where = _servers(settings, up)
    with stack.joined(settings) as found, stack.store_of(found) as store:
        with store.begin() as tx:
            queues, totals = queues_seen(tx, list(KINDS)), counts(tx)
        workers, depths = _redis(found)
    seen = Status(
        str(settings.home), where, up.pid if up else None, _roles(up), workers,
        [Queue(one, depths.get(one.kind)) for one in queues], totals,
    )  # fmt: skip
    return as_json(seen) if in_full else _tell(seen)


def _servers(settings: Settings, up: Record | None) -> str:
    if (settings.database_url and not up) or (up and not up.embedded):
        return "given"
    if servers.running(settings.home):
        return "embedded"
    return "embedded, being started again" if up else "embedded, at rest"


def _roles(up: Record | None) -> list[Role]:
    now = time.time()
    return [
        Role(name, child.pid, process.is_alive(child.process), timedelta(seconds=now - child.since))
        for name, child in (up.roles if up else {}).items()
    ]


def _redis(found: Logins) -> tuple[int | None, dict[str, int]]:
    if not found.redis_url:
        return None, {}
    broker = Broker(found.redis_url, role="cli")
    try:
        return broker.connected("worker"), {kind: broker.depth(kind) for kind in KINDS}
    except RedisUnreachable:
        return None, {}
    finally:
        broker.close()


def _tell(seen: Status) -> None:
    redis = "Redis answers" if seen.workers is not None else painted("Redis does not", "red")
    _row("home", seen.home)
    _row("servers", f"{seen.servers}; Postgres answers, {redis}")
    _row("stack", f"up, pid {seen.up}" if seen.up else "no `up` runs here")
    for role in seen.roles:
        state = "runs" if role.alive else painted("ended; its parent starts it again", "red")
        _row(role.name, f"pid {role.pid}, {state}, since {age(role.since)}")
    _row("workers", f"{'?' if seen.workers is None else seen.workers} connected")
    for queue in seen.queues:
        rows, messages = queue.postgres, "?" if queue.redis is None else queue.redis
        oldest = f", oldest {age(rows.oldest)}" if rows.oldest else ""
        _row("queue", f"{rows.kind}: {rows.waiting} in Postgres, {messages} in Redis, "
                      f"{rows.running} running{oldest}")  # fmt: skip
    total = seen.counts
    _row("attempts", f"{total.active} active, {total.unknown} unknown, {total.dead} dead letters")
    print("next: " + ("fencepost attempts list" if total.active else "fencepost run -- COMMAND"))


def _row(name: str, value: str) -> None:
    print(f"{name:<12}{value}")
