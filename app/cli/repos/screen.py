"""Showing many repositories: a live table on a terminal, else a line for each thing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from app.cli.repos.entry import Entry, Standing
from app.cli.repos.rate import Rate
from app.cli.shown import elapsed, json_line, plain
from app.cli.voice import JsonVoice, LineVoice, LiveVoice, fitting

_HEAD = 6  #: lines of a terminal that are not for the table
_WIDEST = 100
#: Under way, in the order in which they are shown.
_UNDER_WAY = (
    Standing.RUNNING, Standing.WAITING, Standing.QUEUED, Standing.HELD, Standing.FETCHING,
    Standing.TO_COME,
)  # fmt: skip
#: What people watch for; the others are in the table.
_WATCHED = (Standing.RUNNING, Standing.WAITING)
_COLORS = {
    Standing.DONE: "green", Standing.UNCHANGED: "green", Standing.UNKNOWN: "yellow",
}  # fmt: skip


class Screen(Protocol):
    """Somebody who is told what happens."""

    def show(self, entries: Sequence[Entry]) -> None:
        """How everything stands; what was told of an entry is not told again."""

    def say(self, line: str, **facts: object) -> None:
        """Something that the command itself has to say."""

    def close(self) -> None:
        """Nothing more comes; what is printed next stands by itself."""


class Lines(LineVoice):
    """One line for each thing, on standard error."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._rate = Rate()

    def show(self, entries: Sequence[Entry]) -> None:
        """Print what begins to run, what waits, and what ends with how many have."""
        self._rate.look(entries)
        _say_skipped(self, entries)
        told = [
            one for one in entries if (one.is_over or one.standing in _WATCHED) and is_news(one)
        ]
        for entry in told:
            is_end = entry.is_over and not entry.before
            more = f"  ({totals(entries, self._rate)})" if is_end else ""
            self.say(f"{self._time():>9}  {entry.name:<24}  {words(entry)}{more}")

    def _time(self) -> str:
        return elapsed(timedelta(seconds=time.monotonic() - self._began))


class JsonLines(JsonVoice):
    """One object for each thing, on standard output."""

    def show(self, entries: Sequence[Entry]) -> None:
        """Print every change of where an entry stands."""
        for entry in entries:
            if entry.standing is not Standing.TO_COME and is_news(entry):
                json_line({"type": "repository", **facts_of(entry)})


class Terminal(LiveVoice):
    """What ended scrolls by, above a table of what is under way."""

    def __init__(self, live: Live) -> None:
        super().__init__(live)
        self._rate = Rate()
        self._spinner = Spinner("dots")

    def show(self, entries: Sequence[Entry]) -> None:
        """Print what ended, and draw the table again."""
        self._rate.look(entries)
        _say_skipped(self, entries)
        for entry in entries:
            if entry.is_over and is_news(entry):
                line = Text(f"{entry.name:<24}  ")
                line.append(words(entry), _COLORS.get(entry.standing, "red"))
                self._live.console.print(line)
        self._spinner.update(text=Text(totals(entries, self._rate)))
        room = max(3, self._live.console.height - _HEAD)
        self._live.update(Group(self._spinner, *_table(entries, room)))


def screen(*, as_json: bool) -> AbstractContextManager[Screen]:
    """Whoever fits: programs, a terminal, or a file."""
    return fitting(JsonLines, Lines, Terminal, as_json=as_json)


def is_news(entry: Entry) -> bool:
    """Whether this was not told of the entry yet; from now on it was."""
    mark = f"{entry.standing} {'' if entry.is_over else entry.step} {entry.attempt}"
    if mark in entry.told:
        return False
    entry.told.add(mark)
    return True


def words(entry: Entry) -> str:
    """Where an entry stands, for people."""
    before = f"{entry.standing} before" if entry.before else str(entry.standing)
    match entry.standing:
        case Standing.RUNNING:
            return plain(f"running   {entry.step} on {entry.worker or 'a worker'}", _WIDEST)
        case Standing.WAITING:
            return f"waiting   {entry.step}, for a place: {entry.waits}"
        case Standing.DONE if entry.request:
            return f"{before}  pull request #{entry.request['number']}"
        case Standing.QUEUED if entry.joined:
            return "queued    begun by another run"
        case _ if entry.code:
            code = "" if entry.code == entry.standing else f"{entry.code}: "
            return plain(f"{before}  {code}{entry.detail}", _WIDEST)
        case _:
            return before


def totals(entries: Sequence[Entry], rate: Rate) -> str:
    """How many stand where, and how fast they end: `12 of 20, 8 running on 2 workers, 96/min`."""
    counts = Counter(entry.standing for entry in entries)
    over = sum(entry.is_over for entry in entries)
    workers = len({entry.worker for entry in entries if entry.worker and not entry.is_over})
    running = f"{counts[Standing.RUNNING]} running on {workers} worker{'s' * (workers != 1)}"
    bad = sum(entry.is_bad for entry in entries)
    parts = [f"{over} of {len(entries)}", running, f"{rate.a_minute:.0f}/min"]
    return ", ".join(parts + ([f"{bad} failed"] if bad else []))


def facts_of(entry: Entry) -> Mapping[str, object]:
    """Everything that programs may want to know of an entry."""
    return {
        "line": entry.line, "name": entry.name, "repository": entry.url, "base": entry.base,
        "standing": entry.standing, "before": entry.before, "joined": entry.joined,
        "attempt": entry.attempt, "task": entry.task, "step": entry.failed_step or entry.step,
        "worker": entry.worker, "waits": entry.waits, "why": entry.why or None,
        "code": entry.code, "detail": entry.detail,
        "pull_request": entry.request, "elapsed": entry.elapsed,
    }  # fmt: skip


def _say_skipped(screen: Screen, entries: Sequence[Entry]) -> None:
    """What was done before is one line for all of it."""
    done = [one for one in entries if one.before and one.is_over and not one.is_bad]
    if count := sum(is_news(one) for one in done):
        screen.say(f"skips {count} of {len(entries)}: done before")


def _table(entries: Sequence[Entry], room: int) -> Iterator[Table | Text]:
    under_way = sorted(
        (entry for entry in entries if not entry.is_over),
        key=lambda entry: (_UNDER_WAY.index(entry.standing), entry.line),
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("repository", "base", "standing", "step", "since", "worker", "attempt"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for entry in under_way[:room]:
        since = "" if entry.elapsed is None else elapsed(entry.elapsed)
        cells = (entry.name, entry.base, entry.standing, entry.step, since,
                 entry.worker or "", (entry.attempt or "")[:10])  # fmt: skip
        table.add_row(*(Text(plain(cell)) for cell in cells))
    yield table
    if more := Counter(entry.standing for entry in under_way[room:]):
        yield Text("and " + ", ".join(f"{count} {standing}" for standing, count in more.items()))
