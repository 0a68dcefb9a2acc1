"""What fairness and limits cost: the same road with many worlds and all limits, and with none.

From the folder `tests`: `../.venv/bin/python -m bench.fairness [--count 200] [--rounds 5]`
The aim is at most a tenth of the road.
"""

from __future__ import annotations

import argparse
from statistics import median

from bench.ground import ground, machine
from bench.steps import Step, total, walk
from bench.table import show

#: What is asked more where limits are, or where worlds take turns.
_ASKED = ("dispatch", "relay", "claim")
_CASES = (("one world, no limits", 1, False), ("one world, all limits", 1, True),
          ("many worlds, no limits", 0, False), ("many worlds, all limits", 0, True))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.fairness", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--worlds", type=int, default=20, help="how many `many` are")
    parser.add_argument("--rounds", type=int, default=5)
    told = parser.parse_args()
    seen: dict[str, list[list[Step]]] = {name: [] for name, *_ in _CASES}
    with ground() as here:
        print(machine(here.server))
        for _ in range(told.rounds):  # in turns, so that a busy minute meets all of them
            for name, worlds, limited in _CASES:
                walked = walk(here, told.count, worlds or told.worlds, limited=limited)
                seen[name].append(walked)
    bases = {worlds: _whole(seen[name]) for name, worlds, limited in _CASES if not limited}
    show(
        ("case", *(f"{name}, ms" for name in _ASKED), "whole road, ms", "limits cost"),
        [
            (name, *(f"{_of(seen[name], step):.2f}" for step in _ASKED),
             f"{_whole(seen[name]):.1f}", f"{_whole(seen[name]) / bases[worlds] - 1:+.0%}")
            for name, worlds, _ in _CASES
        ],
    )  # fmt: skip
    print(f"\nmedians of {told.rounds} rounds of {told.count} attempts; many: {told.worlds} worlds")


def _whole(walks: list[list[Step]]) -> float:
    return median(map(total, walks))


def _of(walks: list[list[Step]], name: str) -> float:
    return median(one.milliseconds for walked in walks for one in walked if one.name == name)


if __name__ == "__main__":
    main()
