"""The journal: events a second under the fence, by batches and by attempts at once.

From the folder `tests`: `../.venv/bin/python -m bench.journal [--events 2000]`
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from bench.fenced import BASE, prepare
from bench.ground import Ground, ground, machine
from bench.steps import keys
from bench.table import milliseconds, show

from app.dispatcher import projector
from app.domain.digest import canonical
from app.domain.event import Entry, EventType
from app.domain.identity import Claim, DeliveryNumber
from app.store.engine import Store, open_store
from app.transitions.change import LOCAL
from app.transitions.claim import claim
from app.transitions.dispatch import dispatch
from app.transitions.journal import journal

_BATCHES = (1, 10, 100)
_AT_ONCE = (1, 4, 16)
_WORDS = canonical(
    {"text": "a line of output as agents write it, of some eighty characters" + "." * 20}
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.journal", description=__doc__)
    parser.add_argument("--events", type=int, default=2_000, help="for each line")
    told = parser.parse_args()
    with ground() as here:
        print(machine(here.server))
        show(
            ("attempts at once", "events a batch", "events per second", "batch p50/p95/p99 ms"),
            [line(here, many, batch, told.events) for many in _AT_ONCE for batch in _BATCHES],
        )


def line(here: Ground, many: int, batch: int, events: int) -> tuple[object, ...]:
    """Let so many claims write their events at the same time."""
    database, ready = prepare(here, 1, many)
    with (
        closing(open_store(database.app_url, name="bench")) as control,
        closing(open_store(database.worker_url, name="bench-worker", connections=many)) as worker,
    ):
        for world, task in ready:
            dispatch(control, world, LOCAL, task, BASE)
        while projector.turn(control, None):
            pass
        held = [claim(worker, key, DeliveryNumber(1), "bench") for key in keys(database)]
        mine = [one for one in held if isinstance(one, Claim)]
        share = max(batch, events // many)
        begun = time.perf_counter()
        with ThreadPoolExecutor(many) as pool:
            spent = list(pool.map(lambda one: _write(worker, one, batch, share), mine))
        seconds = time.perf_counter() - begun
    written = many * (share // batch) * batch
    return (
        many,
        batch,
        f"{written / seconds:.0f}",
        milliseconds([s for each in spent for s in each]),
    )


def _write(worker: Store, held: Claim, batch: int, events: int) -> list[float]:
    spent, entries = [], [Entry(EventType.OUTPUT, _WORDS)] * batch
    for first in range(1, events - batch + 2, batch):
        begun = time.perf_counter()
        journal(worker, held, first, entries)
        spent.append(time.perf_counter() - begun)
    return spent


if __name__ == "__main__":
    main()
