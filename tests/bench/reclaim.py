"""How long after a kill -9 of its worker an activity is claimed again; the aim is lease + 2 s.

From the folder `tests`: `../.venv/bin/python -m bench.reclaim [--kills 200] [--workers 4]`
Each round kills half of the workers in mid-run, each at a moment of its own, and starts them again
at once, as their parents would. There are two slots for each run, so whoever is left can take over;
with one worker all wait for its successor.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Mapping
from contextlib import closing

from bench.ground import ground, machine, watching
from bench.table import percentile
from fixtures.role import Role
from fixtures.stack import LEASE, Stack
from fixtures.world import Attempt
from psycopg import Connection

from app.store.engine import open_store
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

#: The parent starts a dead role again after this many seconds.
PAUSE = 0.2
#: The claims of each attempt: fence, whose, when.
_CLAIMS = """
select a.attempt_id, c.fence, c.worker, extract(epoch from c.claimed_at)::float8
  from fencepost.claims c join fencepost.activities a using (world_id, kind, activity_id)
 where a.attempt_id = any(%s)
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.reclaim", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="that lost a claim, at least")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    with ground() as here:
        print(machine(here.server))
        database = here.database()
        with (
            closing(open_store(database.app_url, name="bench")) as store,
            watching(database) as session,
        ):
            stack = Stack(here.new_folder(), database, store, here.redis_url)
            try:
                report(measure(stack, session, told.kills, told.workers, random.Random(told.seed)))
            finally:
                stack.close()


def measure(
    stack: Stack, session: Connection, kills: int, many: int, dice: random.Random
) -> list[float]:
    """Seconds from each kill to the next claim of what was lost, both by this machine's clock."""
    stack.start_dispatcher()
    workers = [stack.start_worker(slots=2) for _ in range(many)]
    seconds: list[float] = []
    done = 0
    while len(seconds) < kills:
        attempts = [stack.dispatch("exec sleep 600") for _ in workers]
        names = [one.id for one in attempts]
        stack.until(lambda: len(_claimed(session, names, 1)) == many)  # noqa: B023
        killed = _kill_half(stack, workers, dice)
        first = _claimed(session, names, 1)
        lost = [name for name in names if first[name][0] in killed]
        stack.until(lambda: len(_claimed(session, lost, 2)) == len(lost))  # noqa: B023
        second = _claimed(session, lost, 2)
        these = [second[name][1] - killed[first[name][0]] for name in lost]
        seconds, done = [*seconds, *these], done + len(killed)
        slowest = f", the slowest after {max(these):.2f} s" if these else ""
        print(f"{done} kills: {len(lost)} claims lost{slowest}", flush=True)
        _withdraw(stack, attempts)
    return seconds


def _kill_half(stack: Stack, workers: list[Role], dice: random.Random) -> Mapping[int, float]:
    """When each process was killed; its successor takes its place in the list."""
    killed: dict[int, float] = {}
    for worker in dice.sample(workers, max(1, len(workers) // 2)):
        time.sleep(dice.random())  # no wait for a condition: the moment itself is thrown
        killed[worker.process.pid] = time.time()
        worker.kill()
        time.sleep(PAUSE)
        workers[workers.index(worker)] = stack.start_worker(slots=2)
    return killed


def _claimed(session: Connection, attempts: list[str], fence: int) -> dict[str, tuple[int, float]]:
    """The worker's process and the time of each attempt's claim under a fence."""
    rows = session.execute(_CLAIMS, [attempts]).fetchall()
    return {row[0]: (_process(row[2]), row[3]) for row in rows if row[1] == fence}


def _process(worker: str) -> int:
    """A worker's name is its host, its process and a word of its own."""
    found = re.search(r"-(\d+)-[^-]+$", worker)
    assert found is not None, worker
    return int(found[1])


def _withdraw(stack: Stack, attempts: list[Attempt]) -> None:
    for one in attempts:
        cancel(stack.store, stack.world, LOCAL, one.id, "it was measured")
    for one in attempts:
        stack.until(lambda: stack.seen(one).is_over)  # noqa: B023


def report(seconds: list[float]) -> None:
    lease = LEASE.total_seconds()
    p50, p99 = (percentile(seconds, share) for share in (0.5, 0.99))
    print(
        f"\nkill -9 to re-claim, {len(seconds)} claims lost:"
        f" p50 {p50:.2f} s, p99 {p99:.2f} s, slowest {max(seconds):.2f} s"
    )
    print(f"lease {lease:g} s, aim lease + 2 = {lease + 2:g} s")


if __name__ == "__main__":
    main()
