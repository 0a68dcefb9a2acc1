"""How long after `cancel` no process of a run is left; the aim is five seconds (Q08).

From the folder `tests`: `../.venv/bin/python -m bench.canceling [--runs 20]`
Under the usual lease: one kind of program ends at TERM, the other leaves what is deaf to it, has
lost its parent, hides or forks without end. The requests come at moments that are thrown.
"""

from __future__ import annotations

import argparse
import random
import shlex
import sys
import time
from contextlib import closing
from pathlib import Path

from bench.ground import ground, machine
from bench.table import percentile
from fixtures.role import naming
from fixtures.stack import Stack

from app.kinds.base import ORDINARY
from app.store.engine import open_store
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

ESCAPEE = Path(__file__).parents[1] / "doubles" / "escapee.py"
PROGRAMS = {"polite": (), "deaf": ("deaf", "holder", "stopped", "hidden", "chain")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.canceling", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each program")
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    with ground() as here:
        print(machine(here.server))
        database = here.database()
        with closing(open_store(database.app_url, name="bench")) as store:
            stack = Stack(here.new_folder(), database, store, here.redis_url)
            stack.settings = {"FENCEPOST_LEASE": f"{ORDINARY.lease.total_seconds():g}"}
            stack.build()
            dice = random.Random(told.seed)
            try:
                for name, kinds in PROGRAMS.items():
                    report(name, [measure(stack, kinds, dice) for _ in range(told.runs)])
            finally:
                stack.close()


def measure(stack: Stack, kinds: tuple[str, ...], dice: random.Random) -> tuple[float, float]:
    """Seconds from the request until no process is left, and until the attempt has ended."""
    place = stack.outside / f"run-{len(list(stack.outside.iterdir()))}"
    place.mkdir()
    words = (sys.executable, str(ESCAPEE), str(place), *kinds, "stay")
    attempt = stack.dispatch(f"exec {shlex.join(words)}")
    stack.until((place / "ready").exists)
    time.sleep(dice.random() * ORDINARY.heartbeat.total_seconds())  # the moment itself is thrown

    began = time.monotonic()
    cancel(stack.store, stack.world, LOCAL, attempt.id, "it is measured")
    stack.until(lambda: not naming(place))
    gone = time.monotonic() - began
    stack.until(lambda: stack.seen(attempt).outcome)
    return gone, time.monotonic() - began


def report(name: str, seconds: list[tuple[float, float]]) -> None:
    for what, some in zip(("gone", "ended"), zip(*seconds, strict=True), strict=True):
        p50, p99 = (percentile(list(some), share) for share in (0.5, 0.99))
        print(
            f"cancel to {what}, {name} program, {len(some)} runs:"
            f" p50 {p50:.2f} s, p99 {p99:.2f} s, slowest {max(some):.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
