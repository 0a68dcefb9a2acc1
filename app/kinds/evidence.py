"""The text of a pull request: what ran, changed and was checked, and where it comes from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from app.domain.digest import Json, text
from app.domain.world import Fact, World
from app.kinds.reading import integer, items, mapping, string, strings

#: A reviewer reads the diff for the rest.
MOST_FILES = 50


def body(world: World, order: Mapping[str, Json], candidate: Fact, execution: Fact) -> str:
    """Markdown, in canonical text; the evidence is what was recorded, nothing is run again."""
    checks = [
        fact
        for entity in world.sources(execution.entity, "ProducedBy")
        if (fact := world.fact(entity, "Validation"))
    ]
    parts = [
        f"{_ran(order)}"
        f" on {_code(string(mapping(order, 'base'), 'sha')[:12])}"
        f" ({_safe(string(mapping(order, 'base'), 'branch'))}).",
        _changed(candidate),
        _checked(checks),
        _lineage(world, order, candidate),
    ]
    return text("\n\n".join(parts) + "\n")


def _changed(candidate: Fact) -> str:
    files = items(candidate.value, "files")
    count = integer(candidate.value, "file_count")
    lines = [_file(file) for file in files]
    more = [f"- and {count - MOST_FILES} more"] if count > MOST_FILES else []
    return "\n".join([f"### Changed files ({count})", "", *lines[:MOST_FILES], *more])


def _file(file: Mapping[str, Json]) -> str:
    change, path = string(file, "change").replace("_", " "), _code(string(file, "path"))
    old = file.get("old_path")
    return f"- {change} {_code(old)} → {path}" if isinstance(old, str) else f"- {change} {path}"


def _checked(checks: list[Fact]) -> str:
    if not checks:
        return "### Checks\n\nNone were asked for."
    rows = [
        f"- {_code(string(check.value, 'command'))}: exit {integer(check.value, 'exit')}"
        f" after {integer(check.value, 'duration_ms')} ms"
        for check in checks
    ]
    return "\n".join(["### Checks", "", *rows])


def _lineage(world: World, order: Mapping[str, Json], candidate: Fact) -> str:
    rows = {
        "world": world.id,
        "work order": f"{string(order, 'work_order')} ({string(order, 'work_order_digest')[:12]})",
        "task": string(order, "task"),
        "attempt": string(order, "attempt"),
        "candidate": str(candidate.entity),
        "base": string(mapping(order, "base"), "sha"),
        "head": string(candidate.value, "head"),
    }
    return "\n".join(
        ["### Lineage", "", "| what | which |", "| --- | --- |"]
        + [f"| {name} | {_code(value)} |" for name, value in rows.items()]
    )


def _ran(order: Mapping[str, Json]) -> str:
    if "prompt" not in order:
        return f"Ran {_code(_shown_command(strings(order, 'command')))}"
    asked = " ".join(string(order, "prompt").split())
    asked = asked if len(asked) <= 500 else asked[:499] + "…"
    return f"Asked {_code(string(order, 'executor'))} to {_code(asked)}"


def _shown_command(argv: list[str]) -> str:
    shown = shlex.join(argv)
    return shown if len(shown) <= 200 else shown[:199] + "…"


def _code(value: str) -> str:
    """A code span that its content cannot leave."""
    return "`" + _safe(value).replace("`", "'") + "`"


def _safe(value: str) -> str:
    return "".join(c if c.isprintable() else "·" for c in value)
