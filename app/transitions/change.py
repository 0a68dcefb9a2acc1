"""Changing a world: one tick, one receipt, all or nothing (L10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import assert_never

from app.domain.board import (
    AttemptEnded,
    Column,
    Decision,
    GateOpened,
    StepDispatched,
    StepEnded,
    StepWaits,
    TaskMoved,
    WriterEntered,
    WriterLeft,
    WriterStays,
)
from app.domain.card import check_move, like_ready
from app.domain.digest import Json, canonical, text
from app.domain.event import EventType, Told, told_of
from app.domain.identity import WorldId
from app.domain.transition import Hand
from app.domain.world import World
from app.store import attempts, bounds, clock, journal, worlds
from app.store.board import Task
from app.store.cards import Cards
from app.store.engine import Tx
from app.store.worlds import Receipt, WorldRow

LOCAL = "local"  #: the owner of FENCEPOST_HOME, at the command line
DISPATCHER = "dispatcher"  #: nobody asked; results are observed, processors decide


#: Written at once, and the attempt's card read again.
_Rare = GateOpened | StepWaits | WriterEntered | WriterStays | WriterLeft


@dataclass(frozen=True, slots=True)
class Command:
    """Who asks for what, and why; kept in the receipt (T07)."""

    verb: str
    actor: str
    request: Mapping[str, Json]  #: what was asked, as it was asked
    reason: str | None = None
    key: str | None = None  #: the same key and request is done once (T06)


@dataclass(slots=True)
class Change:
    """A tick under way: add facts to the world, and carry decisions out."""

    tx: Tx
    world: World
    before: worlds.StoredSnapshot  #: what the world knew
    settings: Mapping[str, Json]  #: of the world; a command that declares others sets them here too
    decisions: list[Mapping[str, Json]] = field(default_factory=list)  #: as the receipt has them
    answer: Mapping[str, Json] = field(default_factory=dict)  #: what the command made
    batches: list[list[str]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)  #: what the attempts' journals will say
    receipt: Receipt | None = None
    cards: Cards = field(init=False)
    _at: datetime | None = None

    def __post_init__(self) -> None:
        """An empty hand: nothing of the board is read before it is asked for."""
        self.cards = Cards(self.tx, self.world.id, self.world.tick)

    @property
    def at(self) -> datetime:
        """When this happens: the database's clock, once every lock was waited for."""
        if self._at is None:
            self._at = clock.read(self.tx)
        return self._at

    def read_ahead(self, those: Iterable[str]) -> None:
        """Read these attempts together, with their tasks and what the world knows of them."""
        found = list(dict.fromkeys(those))
        self.cards.read(found)
        self.before.read(self.cards.task_of(one).entity for one in found)

    def decide(self, *decisions: Decision) -> None:
        """Carry decisions out now, in order; the receipt names each."""
        for decision in decisions:
            more = self._carry_out(decision)
            self.decisions.append({**_shown(decision), **more})
            if (told := told_of(decision)) is not None:
                self.told.append(told)

    def _carry_out(self, decision: Decision) -> Mapping[str, Json]:
        """Change the cards; returned is what the receipt says beyond the decision itself."""
        match decision:
            case StepEnded():
                self.cards.end_step(decision)
            case StepDispatched():
                self.cards.dispatch_step(decision)
            case AttemptEnded(attempt, outcome):
                self.cards.end_attempt(attempt, outcome)
            case TaskMoved(attempt, column):
                return self._move(self.cards.task_of(attempt), column)
            case _:
                self.cards.flush()
                _carry_out(self.tx, self.world, decision)
                self.cards.forget(decision.attempt)
        return {}

    def _move(self, task: Task, column: Column) -> Mapping[str, Json]:
        check_move(task.id, task.column, column, Hand.PROCESSOR, like_ready(self.settings))
        self.cards.move(task, column)
        return {"task": task.id, "from": task.column}

    def tell(self, attempt: str, kind: EventType, **value: Json) -> None:
        """Say in the attempt's journal what happened to it (O04)."""
        self.told.append(Told(attempt, kind, value))


@contextmanager
def changing(
    tx: Tx, world_id: WorldId, command: Command, row: WorldRow | None = None
) -> Iterator[Change]:
    """Hold the world, let the caller change it, and commit one receipt with all that it adds.

    `row`: of the world, if it is locked already. An error inside leaves the transaction to be
    rolled back: no tick, no receipt, nothing changed.
    """
    row = row or worlds.lock(tx, world_id)
    before = worlds.StoredSnapshot(tx, world_id, row.tick)
    world = World(world_id, row.tick + 1, row.sequence, before)
    change = Change(tx, world, before, row.settings)
    yield change
    change.cards.flush()
    journal.append(tx, world_id, change.world.tick, change.told)  # last: it locks the counters
    change.receipt = worlds.commit_tick(
        tx, row, command.verb, command.actor, _receipt(row, command, change),
        change.world.sequence, change.world.added,
    )  # fmt: skip


def _carry_out(tx: Tx, world: World, decision: _Rare) -> None:
    match decision:
        case GateOpened():
            attempts.open_gate(tx, world.id, world.tick, decision)
        case StepWaits():
            bounds.set_waiting(tx, world.id, decision)
        case WriterEntered() | WriterStays() | WriterLeft():
            bounds.write(tx, world.id, world.tick, decision)
        case _:
            assert_never(decision)


def _receipt(row: WorldRow, command: Command, change: Change) -> bytes:
    added = change.world.added
    return canonical(
        {
            "v": 1,
            "world": row.world,
            "tick": row.tick + 1,
            "previous": row.last,
            "verb": command.verb,
            "actor": command.actor,
            "reason": text(command.reason) if command.reason is not None else None,
            "key": command.key,
            "subject": {**command.request, **change.answer},
            "at": change.at.isoformat(),
            "entities": list(added.entities),
            "facts": [[f.entity, f.component, f.version, f.digest] for f in added.facts],
            "relations": [[r.source, r.name, r.target] for r in added.relations],
            "batches": change.batches,
            "decisions": change.decisions,
        }
    )


def _shown(decision: Decision) -> dict[str, Json]:
    values: dict[str, Json] = {f.name: getattr(decision, f.name) for f in fields(decision)}
    return {"decision": type(decision).__name__, **values}
