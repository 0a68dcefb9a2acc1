"""The page about metrics and the metrics are the same."""

from __future__ import annotations

import re
from pathlib import Path

from fixtures.scraping import scrape
from fixtures.stack import Stack

Told = dict[str, tuple[str, str, str]]  #: name → type, roles, meaning

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
#: What the library says of the process itself.
LIBRARY = ("process_", "python_")


def test_every_metric_has_its_line(counted: Stack) -> None:
    """Name, type, roles and meaning stand in one table as the processes themselves tell them."""
    roles = {"dispatcher": counted.start_dispatcher(), "worker": counted.start_worker()}
    exposed: Told = {}

    for role, process in roles.items():
        for family in scrape(process).families.values():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            if not name.startswith(LIBRARY):
                known = exposed.get(name)
                whose = f"{known[1]}, {role}" if known else role
                exposed[name] = (family.type, whose, family.documentation)

    assert documented() == exposed


def test_labels_are_as_the_page_says(counted: Stack, work: str) -> None:
    """A series has the labels of its line, and no id among them."""
    dispatcher, worker = counted.start_dispatcher(), counted.start_worker()
    seen = counted.seen(counted.dispatch(work))
    counted.until(lambda: seen.is_over)
    stated = {line[0]: set(filter(None, line[2].split(", "))) for line in lines()}

    for process in (dispatcher, worker):
        for family in scrape(process).families.values():
            for sample in family.samples:
                name = sample.name.removesuffix("_sum").removesuffix("_count")
                if not name.startswith(LIBRARY):
                    assert set(sample.labels) == stated[name], name


def test_the_page_names_no_other_metric() -> None:
    """Whatever an operator copies from the page into a query is there."""
    named = set(re.findall(r"fencepost_[a-z_]+", PAGE.read_text("utf-8")))

    assert {name.removesuffix("_count") for name in named} <= set(documented())


def documented() -> Told:
    return {name: (kind, roles, meaning) for name, kind, _, roles, meaning in lines()}


def lines() -> list[list[str]]:
    cells = [
        [cell.strip().replace("`", "") for cell in line.strip("|\n ").split("|")]
        for line in PAGE.read_text("utf-8").splitlines()
        if line.startswith("| `fencepost_")
    ]
    assert all(len(row) == 5 for row in cells)
    return cells
