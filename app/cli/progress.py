"""Showing an attempt while it runs: live on a terminal, else a line for each thing that happens."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from rich.console import Group
from rich.spinner import Spinner
from rich.text import Text

from app.cli.follow import News
from app.cli.shown import elapsed, json_line, plain
from app.cli.telling import journal_sentence, output_lines, sentence
from app.cli.voice import JsonVoice, LineVoice, LiveVoice, fitting
from app.store.views.attempt import AttemptSeen
from app.store.views.story import Entry

#: What people watch for; the rest is in `fencepost explain`.
_WATCHED = frozenset(
    {
        "claim.taken", "claim.ended", "claim.refused", "call.sent", "call.answered",
        "result.recorded", "unknown.opened", "activity.settled", "event.command", "event.start",
        "event.file", "event.tool",
        "event.step", "event.output", "attempt.human", "attempt.pause", "attempt.resume",
    }
)  # fmt: skip

_WIDEST = 120

_SIGNS = {
    "pending": "·", "dispatched": "…", "succeeded": "✓", "failed": "✗", "skipped": "-",
    "canceled": "✗", "blocked": "✗",
}  # fmt: skip


class Say(Protocol):
    """Says a line; programs read the facts."""

    def __call__(self, line: str, **facts: object) -> None:
        """Say it."""


class Progress(Protocol):
    """Somebody who is told what happens."""

    def show(self, seen: AttemptSeen, news: list[News]) -> None:
        """What is new, and how the attempt stands."""

    def say(self, line: str, **facts: object) -> None:
        """Something that the command itself has to say."""

    def close(self) -> None:
        """Nothing more comes; what is printed next stands by itself."""


class Lines(LineVoice):
    """One line for each thing, on standard error."""

    def show(self, seen: AttemptSeen, news: list[News]) -> None:
        """Print what is new."""
        for one in news:
            for line in lines_of(seen, one):
                print(line, file=sys.stderr, flush=True)


class JsonLines(JsonVoice):
    """One object for each thing, on standard output."""

    def show(self, seen: AttemptSeen, news: list[News]) -> None:
        """Print every piece of news, also what people do not watch for."""
        for one in news:
            told = one.told
            place = {} if isinstance(told, Entry) else {"fence": told.fence, "n": told.n,
                                                       "sequence": told.sequence}  # fmt: skip
            value: Mapping[str, object] = told.facts if isinstance(told, Entry) else told.value
            json_line(
                {"type": one.what, "attempt": seen.id, "step": one.step, "at": one.at, **place,
                 "value": value}
            )  # fmt: skip


class Terminal(LiveVoice):
    """Lines that scroll, above the steps as they stand."""

    def show(self, seen: AttemptSeen, news: list[News]) -> None:
        """Print what is new, and draw the steps again."""
        for one in news:
            for line in lines_of(seen, one):
                self._live.console.print(Text(line))
        self._live.update(_panel(seen))


def progress(*, as_json: bool) -> AbstractContextManager[Progress]:
    """Whoever fits: programs, a terminal, or a file."""
    return fitting(JsonLines, Lines, Terminal, as_json=as_json)


def lines_of(seen: AttemptSeen, news: News) -> list[str]:
    """A piece of news as people watch it; nothing for what they do not."""
    if news.what not in _WATCHED:
        return []
    start = f"{elapsed(news.at - seen.created_at):>9}  {news.step:<13}"
    told = news.told
    if isinstance(told, Entry):
        return [start + plain(sentence(told), _WIDEST)]
    words = journal_sentence(told)
    return [start + words] if words else [f"{start}| {line}" for line in output_lines(told)]


def _panel(seen: AttemptSeen) -> Group:
    steps = [
        Text(f"{_SIGNS.get(step.state, '?')} {step.name}  {step.state}") for step in seen.steps
    ]
    title = Text(f"{seen.title[:60]}  {elapsed(seen.elapsed)}")
    return Group(Spinner("dots", title), *steps)
