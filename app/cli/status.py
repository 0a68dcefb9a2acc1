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
from app.cli.shown import age, as_json, painted
from app.domain.errors import RedisUnreachable
from app.embedded import process
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
class Status:
    """Everything at one glance."""

    home: str
    servers: str
    roles: list[Role]
    workers: int | None  #: connected to Redis, on any machine; None: Redis does not answer
    queues: list[tuple[QueueSeen, int | None]]  #: beside each, its messages in Redis
    counts: Counts


@click.command()
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def command(in_full: bool) -> None:
    """Show servers, roles, both depths of every queue, and what is under way."""
    settings = config.read()
    with stack.joined(settings) as found, stack.store_of(found) as store:
        with store.begin() as tx:
            queues, totals = queues_seen(tx, list(KINDS)), counts(tx)
        workers, depths = _redis(found)
    up = record.find_up(settings.home)
    where = "given" if settings.database_url and not up else "embedded"
    seen = Status(
        str(settings.home),
        "given" if up and not up.embedded else where,
        [
            Role(name, child.pid, process.is_alive(child.process),
                 timedelta(seconds=time.time() - child.since))
            for name, child in (up.roles if up else {}).items()
        ],
        workers,
        [(queue, depths.get(queue.kind)) for queue in queues],
        totals,
    )  # fmt: skip
    return as_json(seen) if in_full else _tell(seen)


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
    print(f"home      {seen.home}")
    print(f"servers   {seen.servers}; Postgres answers, "
          + ("Redis answers" if seen.workers is not None else painted("Redis does not", "red")))  # fmt: skip
    if not seen.roles:
        print("stack     no `up` runs here")
    for role in seen.roles:
        state = "runs" if role.alive else painted("ended; its parent starts it again", "red")
        print(f"{role.name:<10}pid {role.pid}, {state}, since {age(role.since)}")
    print(f"workers   {seen.workers if seen.workers is not None else '?'} connected")
    for queue, depth in seen.queues:
        redis = "?" if depth is None else depth
        oldest = f", oldest {age(queue.oldest)}" if queue.oldest else ""
        print(f"queue     {queue.kind}: {queue.waiting} in Postgres, {redis} in Redis, "
              f"{queue.running} running{oldest}")  # fmt: skip
    total = seen.counts
    print(f"attempts  {total.active} active, {total.unknown} unknown, {total.dead} dead letters")
    print("next: " + ("fencepost attempts list" if total.active else "fencepost run -- COMMAND"))
