"""How things are shown: ages, short ids, tables, and JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

SHORT = 8

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_COLORS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def age(length: timedelta | None) -> str:
    """A length of time in its largest unit: `3m`."""
    if length is None:
        return ""
    seconds = max(0, int(length.total_seconds()))
    size, sign = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
    return f"{seconds // size}{sign}"


def elapsed(length: timedelta) -> str:
    """A length of time as one watches it: `8.2 s`, `3 m 20 s`."""
    seconds = max(0.0, length.total_seconds())
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} m {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} m"


def short(ids: Sequence[str]) -> dict[str, str]:
    """Each id's beginning, long enough to tell it from the others."""
    length = SHORT
    while len({one[:length] for one in ids}) < len(set(ids)):
        length += 1
    return {one: one[:length] for one in ids}


def plain(text: str, limit: int = 0) -> str:
    """Text that cannot steer the terminal, on one line, cut to a limit."""
    safe = "".join(sign if sign.isprintable() else "·" for sign in text)
    return safe if not limit or len(safe) <= limit else safe[: limit - 1] + "…"


def painted(text: str, color: str) -> str:
    """Text in a colour, where there is a terminal and nobody said NO_COLOR."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return f"\x1b[{_COLORS[color]}m{text}\x1b[0m"


def listing(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, then: str
) -> None:
    """Print a table of at most eight columns, and the next useful command."""
    cells = [[plain(str(cell)) for cell in row] for row in rows]
    if not cells:
        print(empty)
        return
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    room = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 10_000
    print(painted(_line(columns, widths)[:room], "bold"))
    for row in cells:
        print(_line(row, widths)[:room])
    print(painted(f"next: {then}", "dim"), file=sys.stderr)


def as_json(value: object) -> None:
    """Print a value in full, for programs."""
    print(_harmless(json.dumps(jsonable(value), indent=2, ensure_ascii=False)))


def json_line(value: Mapping[str, object]) -> None:
    """Print a value as one line, at once."""
    print(_harmless(json.dumps(jsonable(value), ensure_ascii=False)), flush=True)


def _harmless(document: str) -> str:
    """The same JSON, with what could steer a terminal written as escapes."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in document
    )


def jsonable(value: Any) -> Any:
    """A value as JSON has it: times in ISO form, lengths in seconds."""
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return round(value.total_seconds(), 3)
        case Mapping():
            return {str(name): jsonable(one) for name, one in value.items()}
        case list() | tuple():
            return [jsonable(one) for one in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {
                field.name: jsonable(getattr(value, field.name))
                for field in dataclasses.fields(value)
            }
        case _:
            return value


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
