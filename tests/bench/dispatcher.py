"""Where the dispatcher's time goes while attempts flow.

From the folder `tests`: `../.venv/bin/python -m bench.dispatcher [--count 200] [--profile]`
"""

from __future__ import annotations

import argparse

from bench.contender import measure
from bench.fenced import Control
from bench.ground import ground, machine


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.dispatcher", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="by function, too; slower")
    told = parser.parse_args()
    words = ("bench.timed_dispatcher", *(["--profile"] if told.profile else []))
    control = Control(told.worlds, dispatcher=words)
    with ground() as here:
        print(machine(here.server))
        seen = measure(
            control, here, processes=told.processes, slots=4, count=told.count, idle=0
        )  # fmt: skip
    print(f"{seen.rate:.1f} a second; {seen.writes:.1f} writing transactions an attempt")
    print("\n".join(control.said))


if __name__ == "__main__":
    main()
