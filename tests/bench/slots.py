"""Memory of a slot: a worker of threads, every slot of it with a run and a supervisor that waits.

From the folder `tests`: `../.venv/bin/python -m bench.slots [--slots 1 32 128]`
Proportional set size: what several processes share counts once. The run itself (a `sleep`) is not
counted. Beside it the same slots as processes with one slot each, which is what a prefork pool is.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bench.ground import Ground, ground, machine
from bench.table import show
from fixtures.role import Role
from fixtures.stack import Stack

from app.store.engine import open_store
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

_SUPERVISOR = b"supervisor.py"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.slots", description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 32, 128])
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 8, 32])
    told = parser.parse_args()
    with ground() as here:
        print(machine(here.server))
        rows = [measure(here, processes=1, slots=slots) for slots in told.slots]
        rows += [measure(here, processes=many, slots=1) for many in told.processes]
    show(
        ("processes", "slots of each", "a process, idle", "a process, all slots busy",
         "its supervisors, each", "all of it, a slot"),
        rows,
    )  # fmt: skip


def measure(here: Ground, processes: int, slots: int) -> tuple[object, ...]:
    """Megabytes, of workers that hold a run in each slot."""
    database = here.database()
    with closing(open_store(database.app_url, name="bench")) as store:
        stack = Stack(here.new_folder(), database, store, here.redis_url)
        try:
            stack.start_dispatcher()
            workers = [stack.start_worker(slots=slots) for _ in range(processes)]
            stack.until(lambda: all(one.says("role.started") for one in workers))
            idle = _mean([_weight(one.process.pid) for one in workers])
            attempts = [stack.dispatch("exec sleep 3600") for _ in range(processes * slots)]
            stack.until(lambda: len(_supervisors(workers)) == len(attempts), seconds=300)
            supervisors = [_weight(pid) for pid in _supervisors(workers)]
            busy = [_weight(one.process.pid) for one in workers]
            for one in attempts:
                cancel(store, stack.world, LOCAL, one.id, "it was measured")
            for one in attempts:
                stack.until(lambda: stack.seen(one).is_over, seconds=120)  # noqa: B023
        finally:
            stack.close()
    whole = (sum(busy) + sum(supervisors)) / len(attempts)
    numbers = (idle, _mean(busy), _mean(supervisors), whole)
    return (processes, slots, *(f"{number:.1f}" for number in numbers))


def _supervisors(workers: Sequence[Role]) -> list[int]:
    """The supervisors of these workers whose run has begun."""
    ours = {one.process.pid for one in workers}
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or _SUPERVISOR not in (entry / "cmdline").read_bytes():
                continue
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            has_run = (entry / "task" / entry.name / "children").read_text().split()
        except OSError:
            continue
        if parent in ours and has_run:
            found.append(int(entry.name))
    return found


def _weight(pid: int) -> float:
    """The proportional set size of a process, in megabytes."""
    told = Path(f"/proc/{pid}/smaps_rollup").read_text()
    size = re.search(r"^Pss:\s+(\d+) kB", told, re.MULTILINE)
    assert size is not None
    return int(size[1]) / 1024


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


if __name__ == "__main__":
    main()
