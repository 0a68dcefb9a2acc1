"""The board as a tick has it: read ahead, changed in memory, written in a few statements.

A tick may carry hundreds of decisions. Tasks, attempts and steps are read together, each once; what
is decided about them is seen here at once, and by the database from `flush` on. Whoever asks the
database about steps inside a tick flushes first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import LargeBinary, Select, Text, Update, bindparam, func, insert, select, update
from sqlalchemy.sql.dml import UpdateBase

from app.domain.board import AttemptOutcome, Column, StepDispatched, StepEnded, StepState
from app.domain.digest import canonical, digest
from app.domain.errors import NotFound
from app.domain.identity import WorldId
from app.store import clock
from app.store.attempts import came_from
from app.store.board import Task, task_from
from app.store.engine import Tx
from app.store.schema import attempts, steps, tasks, writers
from app.workflow.progress import Came

_UNFINISHED = (StepState.PENDING, StepState.DISPATCHED)


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt as it is appended."""

    attempt: str
    task: Task
    number: int
    workflow: bytes  #: the snapshot that it keeps (O03)
    actor: str
    reason: str | None
    steps: Sequence[tuple[str, str]]  #: name and kind, in order


@dataclass(slots=True)
class AttemptCard:
    """An attempt under a tick's hand."""

    id: str
    task: str
    workflow: bytes
    tick: int  #: in which it began
    is_over: bool
    is_writer: bool  #: it writes on its base now (O08)
    steps: dict[str, Came]


class Cards:
    """What one tick has read of the board of its world, and what it will write there."""

    def __init__(self, tx: Tx, world: WorldId, tick: int) -> None:
        self._tx, self._world, self._tick = tx, world, tick
        self._attempts: dict[str, AttemptCard] = {}
        self._tasks: dict[str, Task] = {}
        self._new_attempts: list[dict[str, object]] = []
        self._new_steps: dict[tuple[str, str], dict[str, object]] = {}
        self._steps: dict[tuple[str, str], dict[str, object]] = {}
        self._ended: dict[str, AttemptOutcome] = {}
        self._moved: dict[str, Column] = {}

    def read(self, wanted: Iterable[str]) -> None:
        """Read those attempts that are not here yet, with their tasks and steps."""
        missing = [one for one in dict.fromkeys(wanted) if one not in self._attempts]
        if not missing:
            return
        asked = {"world": self._world, "those": missing}
        for row in self._tx.execute(_attempts(), asked):
            self._tasks.setdefault(row.task_id, task_from(row))
            self._attempts[row.attempt_id] = AttemptCard(
                row.attempt_id, row.task_id, bytes(row.workflow), row.begun_tick,
                row.ended_at is not None, row.is_writer, {},
            )  # fmt: skip
        for row in self._tx.execute(_steps(), asked):
            self._attempts[row.attempt_id].steps[row.name] = came_from(row)

    def attempt(self, attempt_id: str) -> AttemptCard:
        """An attempt as it stands; NotFound."""
        self.read([attempt_id])
        if attempt_id not in self._attempts:
            raise NotFound(f"no attempt {attempt_id}")
        return self._attempts[attempt_id]

    def task_of(self, attempt_id: str) -> Task:
        """The card of an attempt's task as it stands; NotFound."""
        return self._tasks[self.attempt(attempt_id).task]

    def forget(self, attempt_id: str) -> None:
        """Read an attempt again when it is next asked for: others than we have written its rows."""
        self._attempts.pop(attempt_id, None)

    def begin(self, new: Begun) -> None:
        """Append an attempt; a second active one of the task is ActiveAttempt, when flushed."""
        self.flush()  # an earlier one may have ended in this tick
        self._tasks[new.task.id] = new.task
        self._new_attempts.append(
            {"attempt_id": new.attempt, "task_id": new.task.id, "number": new.number,
             "retry": new.number - 1, "workflow": new.workflow,
             "workflow_digest": digest(new.workflow), "actor": new.actor, "reason": new.reason}
        )  # fmt: skip
        for position, (name, kind) in enumerate(new.steps, 1):
            self._new_steps[new.attempt, name] = {
                "attempt_id": new.attempt, "name": name, "kind": kind, "position": position,
                "state": StepState.PENDING, "activity_id": None,
            }  # fmt: skip
        pending = {name: Came(StepState.PENDING) for name, _ in new.steps}
        self._attempts[new.attempt] = AttemptCard(
            new.attempt, new.task.id, new.workflow, self._tick, False, False, pending
        )

    def dispatch_step(self, step: StepDispatched) -> None:
        """Name the activity that a step has become."""
        state = StepState.DISPATCHED
        if (new := self._new_steps.get((step.attempt, step.step))) is not None:
            new |= {"state": state, "activity_id": step.activity}
        else:
            self._write_step(step.attempt, step.step, state=state, activity=step.activity)
        self.attempt(step.attempt).steps[step.step] = Came(state)

    def end_step(self, ended: StepEnded) -> None:
        """Say that a step is over, how, and with which outputs."""
        if (ended.attempt, ended.step) in self._new_steps:
            self.flush()  # as it began; its end is written over that
        self._write_step(
            ended.attempt, ended.step, state=ended.state, outcome=ended.outcome,
            outputs=canonical(ended.outputs),
        )  # fmt: skip
        now = Came(ended.state, ended.outcome, ended.outputs)
        self.attempt(ended.attempt).steps[ended.step] = now

    def end_attempt(self, attempt_id: str, outcome: AttemptOutcome) -> None:
        """End an attempt and turn its unfinished steps into `skipped`, together (O05)."""
        card = self.attempt(attempt_id)
        if any(attempt == attempt_id for attempt, _ in self._new_steps):
            self.flush()
        self._ended.setdefault(attempt_id, outcome)
        card.is_over = True
        for name, step in card.steps.items():
            if step.state in _UNFINISHED:
                self._write_step(attempt_id, name, state=StepState.SKIPPED)
                card.steps[name] = replace(step, state=StepState.SKIPPED, waits=None)

    def move(self, task: Task, column: Column) -> None:
        """Hang a card elsewhere."""
        self._tasks[task.id] = replace(task, column=column)
        self._moved[task.id] = column

    def flush(self) -> None:
        """Write what was decided: whoever asks the database sees it from now on."""
        world = {"world_id": self._world}
        new = [{**world, "tick": self._tick, **row} for row in self._new_attempts]
        _send(self._tx, insert(attempts), new)
        _send(self._tx, insert(steps), [{**world, **row} for row in self._new_steps.values()])
        _send(
            self._tx, _update_step(),
            [{"w": self._world, "a": attempt, "n": name, **row}
             for (attempt, name), row in self._steps.items()],
        )  # fmt: skip
        ended = [{"w": self._world, "a": one, "o": how} for one, how in self._ended.items()]
        _send(self._tx, _end_attempt(), ended)
        moved = [{"w": self._world, "t": one, "c": to} for one, to in self._moved.items()]
        _send(self._tx, _move_task(), moved)
        for sent in (self._new_attempts, self._new_steps, self._steps, self._ended, self._moved):
            sent.clear()

    def _write_step(
        self, attempt: str, name: str, *, state: StepState, activity: str | None = None,
        outcome: str | None = None, outputs: bytes | None = None,
    ) -> None:  # fmt: skip
        earlier = self._steps.get((attempt, name), {})
        self._steps[attempt, name] = {
            "s": state, "activity": activity or earlier.get("activity"), "o": outcome,
            "outputs": outputs,
        }  # fmt: skip


def _send(tx: Tx, statement: UpdateBase, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        tx.execute(statement, rows if len(rows) > 1 else rows[0])


@functools.cache
def _attempts() -> Select[Any]:
    writes = (
        select(writers.c.attempt_id)
        .where(writers.c.world_id == attempts.c.world_id)
        .where(writers.c.attempt_id == attempts.c.attempt_id, writers.c.left_tick.is_(None))
    )
    return (
        select(
            attempts.c.attempt_id, attempts.c.workflow, attempts.c.tick.label("begun_tick"),
            attempts.c.ended_at, writes.exists().label("is_writer"), tasks,
        )
        .join(tasks, (tasks.c.world_id == attempts.c.world_id)
              & (tasks.c.task_id == attempts.c.task_id))
        .where(attempts.c.world_id == bindparam("world"))
        .where(attempts.c.attempt_id.in_(bindparam("those", expanding=True)))
    )  # fmt: skip


@functools.cache
def _steps() -> Select[Any]:
    return (
        select(steps).where(steps.c.world_id == bindparam("world"))
        .where(steps.c.attempt_id.in_(bindparam("those", expanding=True)))
        .order_by(steps.c.attempt_id, steps.c.position)
    )  # fmt: skip


@functools.cache
def _update_step() -> Update:
    given = {
        "activity_id": func.coalesce(bindparam("activity", type_=Text), steps.c.activity_id),
        "outcome": func.coalesce(bindparam("o", type_=Text), steps.c.outcome),
        "outputs": func.coalesce(bindparam("outputs", type_=LargeBinary), steps.c.outputs),
    }
    return (
        update(steps).where(steps.c.world_id == bindparam("w"))
        .where(steps.c.attempt_id == bindparam("a"), steps.c.name == bindparam("n"))
        .values(state=bindparam("s"), waits_for=None, waits_at=None, waits_since=None, **given)
    )  # fmt: skip


@functools.cache
def _end_attempt() -> Update:
    return (
        update(attempts).where(attempts.c.world_id == bindparam("w"))
        .where(attempts.c.attempt_id == bindparam("a"), attempts.c.ended_at.is_(None))
        .values(ended_at=clock.now(), outcome=bindparam("o"))
    )  # fmt: skip


@functools.cache
def _move_task() -> Update:
    return (
        update(tasks).where(tasks.c.world_id == bindparam("w"), tasks.c.task_id == bindparam("t"))
        .values(board_column=bindparam("c"))
    )  # fmt: skip
