"""Replaying many dead letters: paced, counted, and gone on with after a crash."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from app.cli.base import base_named, fetched
from app.domain.authority import Principal, require
from app.domain.digest import digest_of
from app.domain.errors import FencepostError, ProviderError, Refused, ScopeMissing
from app.domain.identity import WorldId
from app.store import dead_letters
from app.store.dead_letters import Replay
from app.store.engine import Store
from app.store.views.dead_letters import (
    Sought,
    letters_to_replay,
    newest_letter,
    replayed_in,
)
from app.transitions.dispatch import Base
from app.transitions.replay import Asked, check, replay, subject_of

PAGE = 500  #: letters that are read at a time
FRESH = 60.0  #: seconds for which a base is not fetched again

_NOWHERE = Base("rehearsal", "0" * 40)


@dataclass(frozen=True, slots=True)
class One:
    """What became of one letter: its replay, or the code of a refusal."""

    letter: int
    replay: Replay | None = None
    is_new: bool = False
    is_rehearsal: bool = False  #: what came of it was taken back, with the ids that it had
    code: str | None = None
    message: str | None = None


@dataclass(slots=True)
class Tally:
    """What a run came to."""

    batch: str
    before: int  #: replayed by this batch when the run began
    replayed: int = 0
    again: int = 0  #: met, and replayed already
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def exit_code(self) -> int:
        """0: nothing was refused; 2: everything was; 1: some."""
        if not self.refused:
            return 0
        return 1 if self.replayed or self.again or self.before else 2


@dataclass(frozen=True, slots=True)
class Run:
    """Whoever replays, and how."""

    store: Store
    home: Path
    principal: Principal
    asked: Asked
    pace: float  #: seconds from one letter to the next, at least

    def of(self, letters: Iterator[int], tally: Tally, say: Callable[[One], None]) -> Tally:
        """Replay one letter after the other; what is refused does not stop the rest."""
        with self.store.begin() as tx:
            check(tx, self.asked)
        base_of = Bases(self.store, self.home)
        due = time.monotonic()
        for letter in letters:
            time.sleep(max(0.0, due - time.monotonic()))
            due = max(due, time.monotonic() - self.pace) + self.pace
            one = self._one(letter, _nowhere if self.asked.is_rehearsal else base_of)
            _count(tally, one)
            say(one)
        return tally

    def tally(self) -> Tally:
        """Nothing done yet, but for what the batch did before."""
        with self.store.begin() as tx:
            return Tally(self.asked.batch, replayed_in(tx, self.asked.batch))

    def sought(self, sought: Sought) -> Iterator[int]:
        """The letters of a filter that are there now, oldest first, page by page."""
        with self.store.begin() as tx:
            upto = newest_letter(tx)
        after = 0
        while True:
            with self.store.begin() as tx:
                page = letters_to_replay(tx, sought, self.asked.batch, after, upto, PAGE)
            if not page:
                return
            yield from page
            after = page[-1]

    def _one(self, letter: int, base_of: Callable[[WorldId, str], Base]) -> One:
        try:
            with self.store.begin() as tx:
                subject = subject_of(dead_letters.get(tx, letter))
            require(self.principal, "replay", subject.world if subject else None)
            done = replay(self.store, self.asked, letter, base_of)
        except ScopeMissing:
            raise  # for every letter
        except (Refused, ProviderError) as fault:
            return One(letter, code=fault.code, message=f"{fault.message}; {fault.advice}")
        would = self.asked.is_rehearsal and done.is_new
        return One(letter, done.replay, done.is_new, is_rehearsal=would)


def batch_of(*parts: object) -> str:
    """The name of a batch that was given none: the same command has the same."""
    return "b_" + digest_of([str(part) for part in parts])[:16]


class Bases:
    """What tasks start from; a base that was fetched just now is not fetched again."""

    def __init__(self, store: Store, home: Path) -> None:
        self._store, self._home = store, home
        self._known: dict[tuple[WorldId, str, str], tuple[float, Base | FencepostError]] = {}

    def __call__(self, world: WorldId, task: str) -> Base:
        """The base of a task; that it could not be fetched is remembered, too."""
        repository, named = base_named(self._store, world, task)
        at = (world, repository.id, named)
        since, found = self._known.get(at, (0.0, None))
        if found is None or time.monotonic() - since > FRESH:
            try:
                found = fetched(self._home, repository, named)
            except FencepostError as fault:
                found = fault
            self._known[at] = (time.monotonic(), found)
        if isinstance(found, FencepostError):
            raise found
        return found


class Rate(click.ParamType[float]):
    """So many a second, a minute or an hour, `5/s`; as the seconds from one to the next."""

    name = "rate"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The seconds that were typed."""
        if isinstance(value, float):
            return value
        count, _, unit = str(value).partition("/")
        seconds = {"": 1, "s": 1, "m": 60, "h": 3600}.get(unit)
        if seconds is None or not count.isascii() or not count.isdigit() or int(count) < 1:
            self.fail(f"{value!r} is no rate; write 5/s, 30/m or 100/h", param, ctx)
        return seconds / int(count)


def _nowhere(world: WorldId, task: str) -> Base:
    """A rehearsal asks nobody outside."""
    return _NOWHERE


def _count(tally: Tally, one: One) -> None:
    if one.code is not None:
        tally.refused[one.code] += 1
    elif one.is_new:
        tally.replayed += 1
    else:
        tally.again += 1
