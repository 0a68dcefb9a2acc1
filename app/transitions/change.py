"""Changing a world: one tick, one receipt, all or nothing (L10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import assert_never

from app.domain.board import AttemptEnded, Decision, StepDispatched, StepEnded, TaskMoved
from app.domain.digest import Json, canonical, text
from app.domain.identity import WorldId
from app.domain.world import World
from app.store import attempts, board, clock, worlds
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
    """A tick under way: add facts to the world, append decisions for its end."""

    tx: Tx
    world: World
    decisions: list[Decision] = field(default_factory=list)
    answer: Mapping[str, Json] = field(default_factory=dict)  #: what the command made
    batches: list[list[str]] = field(default_factory=list)
    receipt: Receipt | None = None


@contextmanager
def changing(tx: Tx, world_id: WorldId, command: Command) -> Iterator[Change]:
    """Hold the world, let the caller change it, and commit one receipt with all that it adds.

    An error inside leaves the transaction to be rolled back: no tick, no receipt, nothing changed.
    """
    row = worlds.lock(tx, world_id)
    before = worlds.StoredSnapshot(tx, world_id, row.tick)
    change = Change(tx, World(world_id, row.tick + 1, row.sequence, before))
    yield change
    for decision in change.decisions:
        _carry_out(tx, world_id, decision)
    change.receipt = worlds.commit_tick(
        tx, row, command.verb, command.actor, _receipt(tx, row, command, change),
        change.world.sequence, change.world.added,
    )  # fmt: skip


def _carry_out(tx: Tx, world: WorldId, decision: Decision) -> None:
    match decision:
        case StepEnded(attempt, step, state):
            attempts.set_step_state(tx, world, attempt, step, state)
        case StepDispatched():
            attempts.dispatch_step(tx, world, decision)
        case AttemptEnded(attempt, outcome):
            attempts.end(tx, world, attempt, outcome)
        case TaskMoved(attempt, column):
            board.move_task(tx, world, attempts.get(tx, world, attempt).task_id, column)
        case _:
            assert_never(decision)


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
            "subject": {**command.request, **change.answer},
            "at": clock.read(tx).isoformat(),
            "entities": list(added.entities),
            "facts": [[f.entity, f.component, f.version, f.digest] for f in added.facts],
            "relations": [[r.source, r.name, r.target] for r in added.relations],
            "batches": change.batches,
            "decisions": [_shown(decision) for decision in change.decisions],
        }
    )


def _shown(decision: Decision) -> dict[str, Json]:
    values: dict[str, Json] = {f.name: str(getattr(decision, f.name)) for f in fields(decision)}
    return {"decision": type(decision).__name__, **values}
