"""Requests per candidate under seeded faults: four usual strategies, and ours.

From the folder `tests`: `../.venv/bin/python -m bench.forges [--seeds 1000] [--first 0]`
The server is a hostile one of our own; requests are counted there (docs/exactly-once.md).
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.ground import Ground, ground, machine
from bench.table import show
from doubles.github import running
from schedules.judge import came_of_ours
from schedules.many import AT_ONCE, carried
from schedules.naive import STRATEGIES, Came, came_of
from schedules.run import Run
from schedules.site import LOGIN

_CHUNK = 100
_HEADS = (
    "strategy", "one request, recorded", "second requests", "open, and on no record",
    "recorded, and none is there", "no request", "by a person's word, canceled, or refused",
    "waits for a person",
)  # fmt: skip
_OURS = "Fencepost"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.forges", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", action="append", choices=[*STRATEGIES, _OURS])
    told = parser.parse_args()
    logging.getLogger("github").setLevel(logging.ERROR)  # it tells of every fault
    seeds = range(told.first, told.first + told.seeds)
    with ground() as here:
        print(machine(here.server))
        print(f"Per thousand candidates, of {len(seeds)}:")
        rows = []
        for name in told.only or [*STRATEGIES, _OURS]:
            came = _ours(here, seeds) if name == _OURS else _naive(here, name, seeds)
            rows.append(_row(name, came))
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    show(_HEADS, rows)


def _row(name: str, all_of_them: Sequence[Came]) -> tuple[object, ...]:
    """One candidate is in one of the columns, but for those of second and unrecorded requests."""
    alone = [one for one in all_of_them if not one.is_held]
    counts = (
        sum(one.ours == 1 and one.is_recorded for one in alone),
        sum(max(0, one.ours - 1) for one in all_of_them),
        sum(one.unknown for one in alone),
        sum(one.ours == 0 and one.is_recorded for one in alone),
        sum(one.ours == 0 and not one.is_recorded and not one.is_ended for one in alone),
        sum(one.is_ended for one in alone),
        sum(one.is_held for one in all_of_them),
    )
    return (name, *(f"{count * 1000 / len(all_of_them):.0f}" for count in counts))


def _naive(here: Ground, name: str, seeds: Sequence[int]) -> list[Came]:
    found: list[Came] = []
    for start in range(0, len(seeds), _CHUNK):
        folder = here.new_folder()
        with running(folder / "github") as door, ThreadPoolExecutor(AT_ONCE) as pool:
            chunk = seeds[start : start + _CHUNK]
            come = partial(came_of, door, door.add_token(login=LOGIN), folder, STRATEGIES[name])
            found += pool.map(come, chunk)
    return found


def _ours(here: Ground, seeds: Sequence[int]) -> list[Came]:
    found: list[Came] = []

    def look(run: Run) -> None:
        found.append(came_of_ours(run))

    for start in range(0, len(seeds), _CHUNK):
        chunk = seeds[start : start + _CHUNK]
        broken, wrong = carried(here.new_folder(), here.database(), chunk, look)
        for one in broken:
            print(one)
        for line in wrong:
            print(line)
    return found


if __name__ == "__main__":
    main()
