"""Changing a world: one tick, one receipt, all or nothing (L10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
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
from app.store.engine import Tx
from app.store.worlds import Receipt, WorldRow

LOCAL = "local"  #: the owner of FENCEPOST_HOME, at the command line
DISPATCHER = "dispatcher"  #: nobody asked; results are observed, processors decide


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
    decisions: list[Mapping[str, Json]] = field(default_factory=list)  #: as the receipt has them
    answer: Mapping[str, Json] = field(default_factory=dict)  #: what the command made
    batches: list[list[str]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)  #: what the attempts' journals will say
    receipt: Receipt | None = None

    def decide(self, *decisions: Decision) -> None:
        """Carry decisions out now, in order; the receipt names each."""
        for decision in decisions:
            more = _carry_out(self.tx, self.world, decision)
            self.decisions.append({**_shown(decision), **more})
            if (told := told_of(decision)) is not None:
                self.told.append(told)

    def tell(self, attempt: str, kind: EventType, **value: Json) -> None:
        """Say in the attempt's journal what happened to it (O04)."""
        self.told.append(Told(attempt, kind, value))


@contextmanager
def changing(tx: Tx, world_id: WorldId, command: Command) -> Iterator[Change]:
    """Hold the world, let the caller change it, and commit one receipt with all that it adds.

    An error inside leaves the transaction to be rolled back: no tick, no receipt, nothing changed.
    """
    row = worlds.lock(tx, world_id)
    before = worlds.StoredSnapshot(tx, world_id, row.tick)
    change = Change(tx, World(world_id, row.tick + 1, row.sequence, before))
    yield change
    journal.append(tx, world_id, change.world.tick, change.told)  # last: it locks the counters
    change.receipt = worlds.commit_tick(
        tx, row, command.verb, command.actor, _receipt(tx, row, command, change),
        change.world.sequence, change.world.added,
    )  # fmt: skip


def _carry_out(tx: Tx, world: World, decision: Decision) -> Mapping[str, Json]:
    """Change the rows; returned is what the receipt says beyond the decision itself."""
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
        case AttemptEnded(attempt, outcome):
            attempts.end(tx, world.id, attempt, outcome)
        case TaskMoved(attempt, column):
            return _move(tx, world.id, attempt, column)
        case _:
            assert_never(decision)
    return {}


def _move(tx: Tx, world: WorldId, attempt: str, column: Column) -> Mapping[str, Json]:
    task = board.task(tx, world, str(attempts.get(tx, world, attempt).task_id))
    ready = like_ready(worlds.lock(tx, world).settings)
    check_move(task.id, task.column, column, Hand.PROCESSOR, ready)
    board.move_task(tx, world, task.id, column)
    return {"task": task.id, "from": task.column}


def _receipt(tx: Tx, row: WorldRow, command: Command, change: Change) -> bytes:
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
            "at": clock.read(tx).isoformat(),
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
