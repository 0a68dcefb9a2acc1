"""Memory of a slot: every slot holds a run, with its supervisor; in a pool of threads, and forked.

From the folder `tests`: `../.venv/bin/python -m bench.slots [--slots 1 32 128] [--pool threads]`
Proportional set size: what several processes share counts once. The run itself (a `sleep`) does not
count. A forked slot has connections of its own, so the server is let have more of them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from bench.ground import Ground, ground, machine
from bench.table import show
from fixtures.stack import Stack

from app.store.engine import open_store
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

_RUN = "exec sleep 3600"
_CONNECTIONS = "1000"


@dataclass(frozen=True, slots=True)
class Below:
    """The processes of one worker, by what they are."""

    own: list[int]  #: the worker, and of a forked pool its slots
    supervisors: list[int]
    runs: list[int]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.slots", description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 32, 128])
    parser.add_argument("--pool", nargs="+", default=["threads", "forked"])
    told = parser.parse_args()
    more = patch.dict("app.embedded.postgres._SETTINGS", max_connections=_CONNECTIONS)
    with more, ground() as here:
        print(machine(here.server))
        rows = [measure(here, pool, slots) for pool in told.pool for slots in told.slots]
    show(
        ("pool", "slots", "worker, idle", "worker, all slots busy", "supervisor of a run",
         "all of it, a slot"),
        rows,
    )  # fmt: skip


def measure(here: Ground, pool: str, slots: int) -> tuple[object, ...]:
    """Megabytes, of one worker that holds a run in each slot."""
    database = here.database()
    with closing(open_store(database.app_url, name="bench")) as store:
        stack = Stack(here.new_folder(), database, store, here.redis_url)
        try:
            stack.start_dispatcher()
            if pool == "forked":
                worker = stack.start_forked_worker(slots)
                stack.until(lambda: len(_below(worker.process.pid).own) == slots + 1, seconds=120)
            else:
                worker = stack.start_worker(slots=slots)
                stack.until(lambda: worker.says("role.started"))
            idle = _weight(_below(worker.process.pid).own)
            attempts = [stack.dispatch(_RUN) for _ in range(slots)]
            stack.until(lambda: len(_below(worker.process.pid).runs) == slots, seconds=300)
            below = _below(worker.process.pid)
            busy, supervisors = _weight(below.own), _weight(below.supervisors)
            for one in attempts:
                cancel(store, stack.world, LOCAL, one.id, "it was measured")
            for one in attempts:
                stack.until(lambda: stack.seen(one).is_over, seconds=120)  # noqa: B023
        finally:
            stack.close()
    numbers = (idle, busy, supervisors / slots, (busy + supervisors) / slots)
    return (pool, slots, *(f"{number:.1f}" for number in numbers))


def _below(worker: int) -> Below:
    """Everything below a process, sorted by its words."""
    children: dict[int, list[int]] = {}
    words: Mapping[int, bytes] = {}
    words = dict(_processes(children))
    found = [worker]
    for pid in found:
        found += children.get(pid, [])
    runs = [pid for pid in found if b"sleep\x003600" in words.get(pid, b"")]
    supervisors = [pid for pid in found if b"supervisor" in words.get(pid, b"")]
    own = [pid for pid in found if pid not in runs and pid not in supervisors]
    return Below(own, supervisors, runs)


def _processes(children: dict[int, list[int]]) -> Iterable[tuple[int, bytes]]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
                yield int(entry.name), (entry / "cmdline").read_bytes()
        except OSError:
            continue


def _weight(pids: Iterable[int]) -> float:
    """The proportional set size of some processes together, in megabytes."""
    whole = 0
    for pid in pids:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
        size = re.search(r"^Pss:\s+(\d+) kB", told, re.MULTILINE)
        assert size is not None
        whole += int(size[1])
    return whole / 1024


if __name__ == "__main__":
    main()
