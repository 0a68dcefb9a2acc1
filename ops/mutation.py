"""Breaks the code on purpose, one small patch at a time, and names the tests that notice.

A patch of tests/mutants begins with three lines: `# id:` the sentences of the contract that it
breaks, `# what:` how, `# tests:` the quickest tests that have to go red. Each id is cited by one of
these tests. The patches are applied to a copy; the clone itself is only read.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import scratch

HOUSE = Path(__file__).parents[1]
#: Families of which every id that has a test needs a mutant: the laws and the queue.
FAMILIES = ("L", "Q")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A patch, the contract ids that it breaks, and the tests that have to notice."""

    patch: Path
    ids: tuple[str, ...]
    what: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.patch.stem


def main(arguments: Sequence[str] | None = None, house: Path = HOUSE) -> int:
    """0: every mutant was noticed, or listed, or applies; 1: not so; 2: misused."""
    parser = argparse.ArgumentParser(prog="ops/mutants")
    parser.add_argument("names", nargs="*", metavar="NAME|ID", help="these only")
    parser.add_argument("--list", action="store_true", help="the mutants of each id")
    parser.add_argument("--check", action="store_true", help="whether patches apply")
    asked = parser.parse_args(arguments)
    mutants = read_all(house)
    if asked.list:
        return report(listing(mutants, proofs_of(house)))
    if asked.check:
        return report((True, fault) for fault in faults(house, mutants, proofs_of(house)))
    known = {word for mutant in mutants for word in (mutant.name, *mutant.ids)}
    if unknown := [name for name in asked.names if name not in known]:
        parser.error(f"no such mutant, and no id that has one: {', '.join(unknown)}")
    if asked.names:
        mutants = [m for m in mutants if {m.name, *m.ids} & set(asked.names)]
    return run(house, mutants)


def report(lines: Iterable[tuple[bool, str]]) -> int:
    """Print each line; 1 if one of them is a fault."""
    first = 0
    for is_fault, line in lines:
        print(line)
        first = first or int(is_fault)
    return first


def read_all(house: Path) -> list[Mutant]:
    """Every mutant, by name."""
    return [read(patch) for patch in sorted((house / "tests" / "mutants").glob("*.patch"))]


def read(patch: Path) -> Mutant:
    """A mutant as the head of its patch describes it."""
    head = dict(re.findall(r"^# (id|what|tests): (.+)$", patch.read_text("utf-8"), re.MULTILINE))
    if set(head) != {"id", "what", "tests"}:
        sys.exit(f"{patch.name}: needs the lines `# id:`, `# what:` and `# tests:`")
    ids = tuple(re.split(r"[\s,]+", head["id"].strip()))
    return Mutant(patch, ids, head["what"], tuple(head["tests"].split()))


def proofs_of(house: Path) -> dict[str, set[str]]:
    """Contract id → the tests that cite it, from docs/contract.md."""
    return proofs((house / "docs" / "contract.md").read_text("utf-8"))


def proofs(page: str) -> dict[str, set[str]]:
    """The same from the text of that page."""
    found: dict[str, set[str]] = {}
    for name, test in re.findall(r"^- \*\*(\w+)\*\*|^  - `([^`]+)`", page, re.MULTILINE):
        if name:
            found[name] = set()
        else:
            found[next(reversed(found))].add(test)
    return found


def listing(mutants: Sequence[Mutant], cited: dict[str, set[str]]) -> Iterable[tuple[bool, str]]:
    """A line for each id that must have a mutant, then the other ids that have one."""
    others = sorted({name for mutant in mutants for name in mutant.ids})
    due = [name for name, tests in cited.items() if name[0] in FAMILIES and tests]
    for name in dict.fromkeys([*due, *others]):
        names = [mutant.name for mutant in mutants if name in mutant.ids]
        yield not names, f"{name:4} {', '.join(names) or 'has tests, but no mutant'}"


def faults(house: Path, mutants: Sequence[Mutant], cited: dict[str, set[str]]) -> Iterable[str]:
    """Patches that do not apply, and tests that are not there or cite other ids."""
    for mutant in mutants:
        if said := scratch.apply(house, mutant.patch, "--check"):
            yield f"{mutant.patch.name} no longer applies: {said}"
        for test in mutant.tests:
            path, _, name = test.partition("::")
            place = house / path
            if not name or not place.is_file() or f"def {name}(" not in place.read_text("utf-8"):
                yield f"{mutant.patch.name}: no test {test}"
        for missing in set(mutant.ids) - {i for i in cited if cited[i] & set(mutant.tests)}:
            yield f"{mutant.patch.name}: none of its tests cites {missing}"


def run(house: Path, mutants: Sequence[Mutant]) -> int:
    """Try one mutant after the other on a copy; tests that are red before prove nothing."""
    with scratch.copy(house) as place:
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        clean = red(place, tests)
        if clean.code != 0:
            print(f"without any mutant: {clean}\n{clean.output}")
            return 1
        print(
            f"{len(mutants)} mutants, {len(tests)} tests, all green without [{clean.seconds:.0f} s]"
        )
        survivors = sum(not is_noticed(place, mutant) for mutant in mutants)
        print(
            f"{survivors} of {len(mutants)} were not noticed" if survivors else "all were noticed"
        )
        return int(survivors > 0)


def is_noticed(place: scratch.Place, mutant: Mutant) -> bool:
    """Apply, test, and take back; prints mutant → tests that went red."""
    if said := scratch.apply(place.tree, mutant.patch, "--check"):
        print(f"{mutant.name} ({' '.join(mutant.ids)}) → DOES NOT APPLY: {said}", flush=True)
        return False
    with scratch.patched(place, mutant.patch):
        seen = red(place, mutant.tests, "-x")
    noticed = seen.code == 1 and bool(seen.failed)
    verdict = str(seen) if noticed or seen.code == 0 else f"BROKEN\n{seen.output}"
    print(f"{mutant.name} ({' '.join(mutant.ids)}) → {verdict}  [{seen.seconds:.1f} s]", flush=True)
    return noticed


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run of tests showed; an error outside of a test proves nothing."""

    code: int
    output: str
    seconds: float

    @property
    def failed(self) -> list[str]:
        return list(dict.fromkeys(re.findall(r"^FAILED (\S+?::\w+)", self.output, re.MULTILINE)))

    def __str__(self) -> str:
        return ", ".join(self.failed) or ("SURVIVED" if self.code == 0 else "no test failed")


def red(place: scratch.Place, tests: Sequence[str], *how: str) -> Seen:
    """Run tests of the copy on one server; half a minute is enough for each."""
    begin = time.monotonic()
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [place.python, "-P", "-m", "pytest", "-q", "--no-header", "--tb=line", "-rfE",
         "-p", "no:cacheprovider", "--timeout=30", "-k", "not debian", *how, *tests],
        cwd=place.tree, env={**environment, "COLUMNS": "240"}, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return Seen(done.returncode, done.stdout, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
