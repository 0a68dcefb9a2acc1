"""Three ways to speak while work goes on: to a file, to a program, and on a live terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.live import Live
from rich.text import Text

from app.cli.shown import json_line

Shown = TypeVar("Shown")


class LineVoice:
    """Speaks on standard error, a line at a time."""

    def say(self, line: str, **facts: object) -> None:
        """Print it."""
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to do."""


class JsonVoice:
    """Speaks on standard output, an object at a time."""

    def say(self, line: str, **facts: object) -> None:
        """Print it as an event of its own."""
        json_line({"type": "message", "text": line, **facts})

    def close(self) -> None:
        """Nothing to do."""


class LiveVoice:
    """Speaks above what is drawn at the lower end of a terminal."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def say(self, line: str, **facts: object) -> None:
        """Print it above what is drawn."""
        self._live.console.print(Text(line))

    def close(self) -> None:
        """Take away what is drawn."""
        self._live.stop()


@contextmanager
def fitting(
    json: Callable[[], Shown], lines: Callable[[], Shown], drawn: Callable[[Live], Shown], *,
    as_json: bool,
) -> Iterator[Shown]:  # fmt: skip
    """Whoever fits: programs, a file, or a terminal."""
    if as_json:
        yield json()
    elif not sys.stderr.isatty():
        yield lines()
    else:
        with _drawing() as live:
            yield drawn(live)


@contextmanager
def _drawing() -> Iterator[Live]:
    """The lower end of a terminal, on which what stands there is drawn again and again."""
    console = Console(stderr=True, highlight=False)
    with Live(
        console=console,
        transient=True,
        refresh_per_second=8,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as live:
        yield live
