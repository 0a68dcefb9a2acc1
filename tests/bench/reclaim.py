"""How long after a kill -9 of its worker an activity is claimed again; the aim is lease + 2 s.

By hand, from the folder `tests`: `../.venv/bin/python -m bench.reclaim [KILLS]`
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from fixtures.database import Database
from fixtures.role import Role
from fixtures.stack import LEASE, Stack

from app.embedded import servers
from app.store import migrate
from app.store.engine import open_engine, open_store
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

#: The parent starts a dead role again after this many seconds.
PAUSE = 0.2


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        home = Path(folder) / "servers"
        try:
            found = servers.start(home)
            engine = open_engine(found.owner_url, name="bench-owner", timeouts=False)
            migrate.upgrade(engine)
            engine.dispose()
            database = Database(
                found.owner_url, found.app_url, found.worker_url, found.superuser_url
            )
            with closing(open_store(found.app_url, name="bench")) as store:
                stack = Stack(Path(folder), database, store, found.redis_url)
                report(sorted(measure(stack, kills)))
                stack.close()
        finally:
            servers.destroy(home)


def measure(stack: Stack, kills: int) -> list[float]:
    """Kill a worker in mid-run, start another as the parent would, and wait for its claim."""
    stack.start_dispatcher()
    worker = stack.start_worker()
    seconds = []
    for number in range(kills):
        attempt = stack.dispatch(f"{stack.counted('run')}; exec sleep 600")
        stack.until(lambda: stack.count("run") == 2 * number + 1)  # noqa: B023
        seconds.append(one(stack, worker, attempt.id))
        worker = stack.roles[-1]
        stack.until(lambda: stack.count("run") == 2 * number + 2)  # noqa: B023
        cancel(stack.store, stack.world, LOCAL, attempt.id, "it was measured")
        stack.until(lambda: stack.seen(attempt).is_over)  # noqa: B023
        print(f"{number + 1}: {seconds[-1]:.2f} s", flush=True)
    return seconds


def one(stack: Stack, worker: Role, attempt: str) -> float:
    """Seconds from the kill to the next claim, both by this machine's clock."""
    killed_at = time.time()
    worker.kill()
    time.sleep(PAUSE)
    stack.start_worker()
    claimed = (
        "select extract(epoch from c.claimed_at) from fencepost.claims c"
        " join fencepost.activities a using (world_id, kind, activity_id)"
        " where a.attempt_id = %s and c.fence = 2"
    )
    rows: list[tuple[object, ...]] = []

    def is_claimed() -> bool:
        with stack.database.as_superuser() as session:
            rows[:] = session.execute(claimed, [attempt]).fetchall()
        return bool(rows)

    stack.until(is_claimed)
    return float(str(rows[0][0])) - killed_at


def report(seconds: list[float]) -> None:
    lease = LEASE.total_seconds()
    p50, p99 = (seconds[min(len(seconds) - 1, int(len(seconds) * p))] for p in (0.5, 0.99))
    print(f"kill -9 to re-claim, {len(seconds)} kills: p50 {p50:.2f} s, p99 {p99:.2f} s")
    print(f"lease {lease:g} s, aim lease + 2 = {lease + 2:g} s")


if __name__ == "__main__":
    main()
