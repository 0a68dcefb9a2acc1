"""The frame of the house: its top-level names, the size of its files, nothing of one machine."""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

FRAME = {"pyproject.toml", "README.md", "app", "workers", "tests", "compose", "ops", "docs"}
LONGEST = 250
# the one error tree and the one schema: looked things up in, never read through
# and the supervisor, which runs alone and so can import nothing of ours
CATALOGUES = {
    "app/domain/errors.py", "app/store/schema.py", "workers/workspace/supervisor.py",
}  # fmt: skip
LONGEST_CATALOGUE = 500
# spelled so that this file does not match itself
OF_ONE_MACHINE = re.compile(
    r"(?<!\w)"
    + r"|(?<!\w)".join(
        [
            r"/(?:work)/(?:main|shared)\b",
            r"/(?:root)/\.",
            r"/(?:home)/[a-z]+/\.",
            r"/(?:opt)/(?:pypi|wheels)\b",
            r"--(?:extra-)?index-url",
            r"(?:pypi|pythonhosted)\.(?:org)\b",
        ]
    )
)


def test_top_level_names_stay_within_the_frame(committed: list[Path]) -> None:
    """A new top-level name is a decision about the house, not a by-product of a change."""
    tops = {path.parts[0] for path in committed}

    assert {name for name in tops - FRAME if not name.startswith(".")} == set()


def test_no_module_hides_behind_an_underscore(committed: list[Path]) -> None:
    """Modules are rooms with a door; privacy is a matter of functions."""
    hidden = [p for p in committed if p.suffix == ".py" and re.match(r"_[^_]", p.name)]

    assert hidden == []


def test_source_files_stay_short(
    house: Path, committed: list[Path], record_property: Callable[[str, object], None]
) -> None:
    """A source file above 250 lines holds more than one idea: split it."""
    sources = [p for p in committed if p.suffix == ".py" and p.parts[0] in {"app", "workers"}]
    lengths = {str(p): len((house / p).read_text("utf-8").splitlines()) for p in sources}
    median = statistics.median(length for length in lengths.values() if length)

    record_property("median", median)
    print(f"median of {len(lengths)} source files: {median:g} lines")
    assert {path: length for path, length in lengths.items() if length > limit(path)} == {}


def limit(path: str) -> int:
    return LONGEST_CATALOGUE if path in CATALOGUES else LONGEST


def test_nothing_of_one_machine_is_committed(house: Path, committed: list[Path]) -> None:
    """Paths and package indexes of the author's machine mean nothing on the reader's."""
    found = [
        f"{path}:{number}: {line.strip()[:120]}"
        for path in committed
        for number, line in enumerate(
            (house / path).read_bytes().decode("utf-8", "replace").splitlines(), 1
        )
        if OF_ONE_MACHINE.search(line)
    ]

    assert found == []


def test_domain_imports_only_the_standard_library(house: Path) -> None:
    """The rules run anywhere: app.domain imports itself and the standard library."""
    foreign = {
        f"{path.name}: {name}"
        for path in (house / "app" / "domain").rglob("*.py")
        for name in imported(path)
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not f"{name}.".startswith("app.domain.")
    }

    assert foreign == set()


def imported(path: Path) -> set[str]:
    """The modules that a source file imports, by their full names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "app":
            names.update(f"app.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names
