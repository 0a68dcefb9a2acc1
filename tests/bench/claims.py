"""Claims: how many are taken, renewed and recorded a second, by so many threads.

From the folder `tests`: `../.venv/bin/python -m bench.claims [--count 400] [--backlog 1000000]`
Besides: all leases of a process by one statement, and a claim's time behind a backlog.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

from bench.fenced import BASE, prepare
from bench.ground import Ground, ground, machine
from bench.noop_worker import NOTHING
from bench.steps import keys
from bench.table import milliseconds, percentile, show
from fixtures.backlog import a_backlog
from fixtures.database import Database

from app.dispatcher import projector
from app.domain.identity import ActivityId, ActivityKey, Claim, DeliveryNumber, Kind, WorldId
from app.kinds import author
from app.store.engine import Store, open_store
from app.transitions.change import LOCAL
from app.transitions.claim import claim
from app.transitions.dispatch import dispatch
from app.transitions.open_world import open_world
from app.transitions.record import record
from app.transitions.renew import renew

Result = TypeVar("Result")

_THREADS = (1, 4, 16)
_FIRST = DeliveryNumber(1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.claims", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="activities for each line")
    parser.add_argument("--leases", type=int, default=10_000, help="renewed by one statement")
    parser.add_argument("--backlog", type=int, default=1_000_000, help="deliveries that wait")
    told = parser.parse_args()
    with ground() as here:
        print(machine(here.server))
        cycles(here, told.count)
        behind(here, told.leases, told.backlog)


def cycles(here: Ground, count: int) -> None:
    """Claim, renew once, record; each thread takes the next that nobody has."""
    template, ready = prepare(here, 1, count)
    with closing(open_store(template.app_url, name="bench")) as control:
        for world, task in ready:
            dispatch(control, world, LOCAL, task, BASE)
        while projector.turn(control, None):
            pass
    rows = []
    for threads in _THREADS:
        database = here.database(like=template)
        waiting = keys(database)
        with closing(
            open_store(database.worker_url, name="bench-worker", connections=threads)
        ) as worker:
            begun = time.perf_counter()
            with ThreadPoolExecutor(threads) as pool:
                spent = list(pool.map(lambda key: _cycle(worker, key), waiting))
            rate = count / (time.perf_counter() - begun)
        rows.append((threads, f"{rate:.0f}", *map(milliseconds, zip(*spent, strict=True))))
    show(("threads", "cycles per second", "claim p50/p95/p99 ms", "renew", "record"), rows)


def behind(here: Ground, leases: int, backlog: int) -> None:
    """Claims behind backlogs, then all of them renewed by one statement."""
    database = here.database()
    with (
        closing(open_store(database.app_url, name="bench")) as control,
        closing(open_store(database.worker_url, name="bench-worker")) as worker,
    ):
        from_few = _behind(database, control, worker, "few", 1_000)
        from_many = _behind(database, control, worker, "many", backlog)
        held = _claimed(control, worker, database, leases)
        beats = [_timed(lambda: renew(worker, held))[0] for _ in range(5)]
    print()
    show(
        ("what", "ms"),
        [
            ("claim behind 1,000, p50 / p95 / p99", milliseconds(from_few)),
            (f"claim behind {backlog:,}, p50 / p95 / p99", milliseconds(from_many)),
            ("p95 of the latter over the former",
             f"{percentile(from_many, 0.95) / percentile(from_few, 0.95):.2f} ×"),
            (f"{leases:,} leases by one statement, p50", f"{percentile(beats, 0.5) * 1000:.0f}"),
        ],
    )  # fmt: skip


def _behind(
    database: Database, control: Store, worker: Store, prefix: str, size: int
) -> Sequence[float]:
    """Seconds of 200 claims while so many more wait."""
    world = open_world(control, prefix)
    a_backlog(database, world, size, prefix=prefix)
    step = max(1, size // 200)
    wanted = [_key(world, f"{prefix}{number}") for number in range(1, size + 1, step)][:200]
    return [_timed(lambda key=key: claim(worker, key, _FIRST, "bench"))[0] for key in wanted]


def _claimed(control: Store, worker: Store, database: Database, count: int) -> list[Claim]:
    world = open_world(control, "leases")
    a_backlog(database, world, count, prefix="l")
    with database.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        session.execute("update fencepost.activities set lease = '1 hour' where world_id = %s",
                        [world])  # fmt: skip
    with ThreadPoolExecutor(4) as pool:
        wanted = [_key(world, f"l{number}") for number in range(1, count + 1)]
        taken = list(pool.map(lambda key: claim(worker, key, _FIRST, "bench"), wanted))
    return [one for one in taken if isinstance(one, Claim)]


def _cycle(worker: Store, key: ActivityKey) -> tuple[float, float, float]:
    first, held = _timed(lambda: claim(worker, key, _FIRST, "bench"))
    assert isinstance(held, Claim), held
    second, _ = _timed(lambda: renew(worker, [held]))
    third, _ = _timed(lambda: record(worker, held, NOTHING))
    return first, second, third


def _timed(act: Callable[[], Result]) -> tuple[float, Result]:
    begun = time.perf_counter()
    result = act()
    return time.perf_counter() - begun, result


def _key(world: WorldId, activity: str) -> ActivityKey:
    return ActivityKey(world, Kind(author.NAME), ActivityId(activity))


if __name__ == "__main__":
    main()
