"""Changing a world: one tick, one receipt, all or nothing (L10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
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
from app.store import attempts, board, bounds, clock, journal, worlds
from app.store.attempts import AttemptRow
from app.store.board import Task
from app.store.engine import Tx
from app.store.worlds import Receipt, WorldRow

LOCAL = "local"  #: the owner of FENCEPOST_HOME, at the command line
DISPATCHER = "dispatcher"  #: nobody asked; results are observed, processors decide


_OfSteps = (
    StepEnded | StepDispatched | GateOpened | StepWaits | WriterEntered | WriterStays | WriterLeft
)


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
    settings: Mapping[str, Json]  #: of the world; a command that declares others sets them here too
    decisions: list[Mapping[str, Json]] = field(default_factory=list)  #: as the receipt has them
    answer: Mapping[str, Json] = field(default_factory=dict)  #: what the command made
    batches: list[list[str]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)  #: what the attempts' journals will say
    receipt: Receipt | None = None
    _tasks: dict[str, Task] = field(default_factory=dict)
    _attempts: dict[str, AttemptRow] = field(default_factory=dict)
    _at: datetime | None = None

    @property
    def at(self) -> datetime:
        """When this happens: the database's clock, once every lock was waited for."""
        if self._at is None:
            self._at = clock.read(self.tx)
        return self._at

    def task(self, task_id: str) -> Task:
        """A task as it stands, read once; NotFound."""
        if task_id not in self._tasks:
            self._tasks[task_id] = board.task(self.tx, self.world.id, task_id)
        return self._tasks[task_id]

    def attempt(self, attempt_id: str) -> AttemptRow:
        """The row of an attempt as it stands, read once; NotFound."""
        if attempt_id not in self._attempts:
            self._attempts[attempt_id] = attempts.get(self.tx, self.world.id, attempt_id)
        return self._attempts[attempt_id]

    def decide(self, *decisions: Decision) -> None:
        """Carry decisions out now, in order; the receipt names each."""
        for decision in decisions:
            more = self._carry_out(decision)
            self.decisions.append({**_shown(decision), **more})
            if (told := told_of(decision)) is not None:
                self.told.append(told)

    def _carry_out(self, decision: Decision) -> Mapping[str, Json]:
        """Change the rows; returned is what the receipt says beyond the decision itself."""
        match decision:
            case AttemptEnded(attempt, outcome):
                attempts.end(self.tx, self.world.id, attempt, outcome)
                self._attempts.pop(attempt, None)
            case TaskMoved(attempt, column):
                return self._move(str(self.attempt(attempt).task_id), column)
            case _:
                _carry_out(self.tx, self.world, decision)
        return {}

    def _move(self, task_id: str, column: Column) -> Mapping[str, Json]:
        task = self.task(task_id)
        check_move(task.id, task.column, column, Hand.PROCESSOR, like_ready(self.settings))
        board.move_task(self.tx, self.world.id, task.id, column)
        self._tasks[task_id] = replace(task, column=column)
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
    change = Change(tx, World(world_id, row.tick + 1, row.sequence, before), row.settings)
    yield change
    journal.append(tx, world_id, change.world.tick, change.told)  # last: it locks the counters
    change.receipt = worlds.commit_tick(
        tx, row, command.verb, command.actor, _receipt(row, command, change),
        change.world.sequence, change.world.added,
    )  # fmt: skip


def _carry_out(tx: Tx, world: World, decision: _OfSteps) -> None:
    match decision:
        case StepEnded():
            attempts.end_step(tx, world.id, decision)
        case StepDispatched():
            attempts.dispatch_step(tx, world.id, decision)
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
