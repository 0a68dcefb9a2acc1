"""What `fencepost up` shows: in short on a terminal, whole lines elsewhere, or objects."""

from __future__ import annotations

import sys
from collections.abc import Callable

from app.cli import moment_told
from app.cli.shown import json_line

#: Takes who says it and a line: a role its log's, `fencepost` the parent's own.
Tell = Callable[[str, str], None]

PARENT = "fencepost"


def teller(*, in_full: bool) -> Tell:
    """How this process tells what happens."""
    if in_full:
        return _as_object
    return _in_short if sys.stderr.isatty() else _whole


def _as_object(name: str, line: str) -> None:
    json_line(moment_told.in_full(name, line))


def _in_short(name: str, line: str) -> None:
    said = line if name == PARENT else moment_told.words(line)
    if said is not None:
        _whole(name, said)


def _whole(name: str, line: str) -> None:
    print(f"{name:<10} {line}", file=sys.stderr, flush=True)
