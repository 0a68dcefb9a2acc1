"""Many runs side by side, and what they came to."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from doubles.github.openapi import DESCRIPTION
from fixtures.database import Database
from fixtures.waiting import until
from schedules import judge
from schedules.run import Run
from schedules.site import Site, site

#: Runs side by side: most of each is waiting.
AT_ONCE = 12


@dataclass(frozen=True, slots=True)
class Broken:
    """A run that kept not every promise."""

    seed: int
    wrong: list[str]
    told: list[str]

    def __str__(self) -> str:
        return "\n".join(
            [
                f"seed {self.seed}: {'; '.join(self.wrong)}",
                f"  FENCEPOST_SEEDS={self.seed} ops/test tests/schedules/test_schedules.py",
                *(f"    {line}" for line in self.told[-60:]),
            ]
        )


def carried(
    folder: Path, database: Database, seeds: Sequence[int],
    look: Callable[[Run], None] = lambda _: None,
) -> tuple[list[Broken], list[str]]:  # fmt: skip
    """Carry every seed's run; those that broke a promise, and what is wrong with all together.

    `look` sees each run once nothing more of it can arrive late.
    """
    with site(folder, database, AT_ONCE) as here:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda seed: _carried(here, seed), seeds))
        until(lambda: not here.door.held_late())
        runs = [one for one in found if isinstance(one, Run)]
        broken = [one for one in found if isinstance(one, Broken)]
        for one in runs:
            look(one)
            if wrong := judge.wrong(one):
                broken.append(Broken(one.seed, wrong, one.told))
        return broken, _wrong_with_all(here)


def _carried(here: Site, seed: int) -> Run | Broken:
    run = Run(here, seed)
    try:
        run.carry()
    except Exception:  # noqa: BLE001  told with its seed, beside the others
        return Broken(seed, [traceback.format_exc()], run.told)
    return run


def _wrong_with_all(here: Site) -> list[str]:
    """What only the whole server and the whole database show."""
    found = [*here.violations(), *here.door.secrets_seen()]
    if DESCRIPTION.exists():
        found += here.door.violations()
    record = here.folder / "github" / "record.jsonl"
    if here.token in record.read_text("utf-8"):
        found.append("the token is in the server's record")
    return found
