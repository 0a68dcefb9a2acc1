"""Following an attempt: what is new at every look, in the order of the database's clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.domain.identity import ActivityId, ActivityKey, Kind, WorldId
from app.store.engine import Store
from app.store.views.attempt import AttemptSeen, attempt_seen
from app.store.views.journal import Written, written_after
from app.store.views.story import Entry, story_of


@dataclass(frozen=True, slots=True)
class News:
    """One thing that happened in one step."""

    step: str
    told: Entry | Written

    @property
    def at(self) -> datetime:
        """When, by the database's clock."""
        return self.told.at

    @property
    def what(self) -> str:
        """Its stable type: `claim.taken`, `event.output`, of the control plane `attempt.pause`."""
        if isinstance(self.told, Entry):
            return self.told.what
        return f"{'event' if self.told.activity else 'attempt'}.{self.told.type}"


class Follower:
    """One reader of one attempt; nothing is told twice."""

    def __init__(self, store: Store, world: str, attempt: str) -> None:
        self._store, self._world, self._attempt = store, world, attempt
        self._told: set[tuple[object, ...]] = set()
        self._sequence = 0

    def look(self) -> tuple[AttemptSeen, list[News]]:
        """How the attempt stands, and what is new since the last look."""
        news: list[News] = []
        with self._store.begin() as tx:
            seen = attempt_seen(tx, self._world, self._attempt)
            steps = {step.activity: step.name for step in seen.steps if step.activity}
            # The journal first: what it tells of is committed before, so the story has it too.
            for one in written_after(tx, self._world, self._attempt, self._sequence):
                self._sequence = one.sequence
                news.append(News(_step_of(one, steps), one))
            for step in seen.steps:
                if step.activity is None or step.fence is None:
                    continue
                key = ActivityKey(WorldId(seen.world), Kind(step.kind), ActivityId(step.activity))
                told = story_of(tx, key)
                news += [News(step.name, entry) for entry in told if self._is_new(entry)]
        return seen, sorted(news, key=lambda one: one.at)

    def _is_new(self, entry: Entry) -> bool:
        numbers = tuple(entry.facts.get(name) for name in ("number", "fence", "n", "verdict_id"))
        mark = (entry.kind, entry.activity, entry.what, entry.at, *numbers)
        if mark in self._told:
            return False
        self._told.add(mark)
        return True


def _step_of(event: Written, steps: Mapping[str, str]) -> str:
    """The step that an event belongs to; some belong to the whole attempt."""
    if event.activity is not None:
        return steps.get(event.activity, "")
    return str(event.value.get("step", "attempt"))


def follow(
    follower: Follower,
    show: Callable[[AttemptSeen, list[News]], None],
    pause: Callable[[AttemptSeen], None],
) -> AttemptSeen:
    """Show what is new until the attempt has ended and settled, or waits for a person."""
    while True:
        seen, news = follower.look()
        show(seen, news)
        if seen.is_settled or (seen.unknown is not None and not news):
            return seen
        pause(seen)
