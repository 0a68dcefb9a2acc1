"""Tasks a second from dispatch to settlement, beside Celery with rows, Procrastinate and DBOS.

From the folder `tests`: `../.venv/bin/python -m bench.throughput [--count 500] [--processes 1 2 4]`
"""

from __future__ import annotations

import argparse

from bench import peer
from bench.contender import Contender, Measured, measure
from bench.fenced import Control, Whole
from bench.ground import ground, machine
from bench.table import milliseconds, show

_HEADS = (
    "what", "processes", "per second", "submitted per second", "beside ours",
    "idle wait p50/p95/p99 ms", "idle work", "loaded wait", "loaded work",
    "writes a task", "MB a process",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.throughput", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="tasks at once")
    parser.add_argument("--idle", type=int, default=60, help="tasks one at a time")
    parser.add_argument("--whole", type=int, default=40, help="attempts of the whole road; 0: none")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--slots", type=int, default=4, help="threads of a worker process")
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--peers", nargs="*", default=list(peer.PEERS), choices=list(peer.PEERS))
    told = parser.parse_args()
    if told.peers:
        peer.install()
    control = Control(told.worlds)
    contenders: list[tuple[Contender, int, int]] = [(control, told.count, told.idle)]
    contenders += [(peer.PEERS[name], told.count, told.idle) for name in told.peers]
    if told.whole:
        contenders.append((Whole(), told.whole, min(5, told.idle)))
    with ground() as here:
        print(f"{machine(here.server)}; slots {told.slots}, worlds {told.worlds}, one submitter\n")
        seen = [
            measure(one, here, processes=processes, slots=told.slots, count=count, idle=idle)
            for processes in told.processes
            for one, count, idle in contenders
        ]
    ours = {one.processes: one.rate for one in seen if one.name == control.name}
    show(_HEADS, (_row(one, ours[one.processes]) for one in seen))
    print(
        "\nwait: submitted → claimed (started); work: claimed → settled (done);"
        " writes: transactions that wrote\n"
    )
    for contender, *_ in contenders:
        print(f"- {contender.name} lacks {contender.lacks}.")


def _row(seen: Measured, ours: float) -> tuple[object, ...]:
    return (
        seen.name, seen.processes, f"{seen.rate:.1f}", f"{seen.count / seen.submitting:.0f}",
        f"{seen.rate / ours:.2f} ×",
        milliseconds([one.wait for one in seen.idle]),
        milliseconds([one.work for one in seen.idle]),
        milliseconds([one.wait for one in seen.loaded]),
        milliseconds([one.work for one in seen.loaded]),
        f"{seen.writes:.1f}", f"{seen.resident:.0f}",
    )  # fmt: skip


if __name__ == "__main__":
    main()
