"""Dispatching a task: a new attempt, its steps, and the dispatch that the projector will find."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.board import (
    DISPATCHABLE,
    Column,
    StepDispatched,
    TaskMoved,
    WorkOrderState,
)
from app.domain.digest import Json, canonical
from app.domain.errors import ActiveAttempt, NotApproved, WrongState
from app.domain.identity import ActivityKey, WorldId, dispatch_id, mint, operation_id
from app.domain.work_order import slug
from app.events import Moment, emit
from app.kinds import author, pull_request
from app.kinds.reading import integer, string, strings
from app.store import attempts, board, clock
from app.store.board import Repository, Task, WorkOrder
from app.store.engine import Store
from app.store.listening import wake
from app.transitions.change import Change, Command
from app.transitions.perform import perform

#: The only workflow so far; an attempt keeps the one it ran (O03).
WORKFLOW = ((author.STEP, author.NAME), (pull_request.STEP, pull_request.NAME))


@dataclass(frozen=True, slots=True)
class Base:
    """What the work starts from, as the forge has it."""

    branch: str
    sha: str


def dispatch(
    store: Store, world: WorldId, actor: str, task_id: str, base: Base, reason: str | None = None,
    *, key: str | None = None,
) -> str:  # fmt: skip
    """Append an attempt of an approved, dispatchable task and return its id.

    Refused: a work order that is not approved, a card in the wrong column, a task that has an
    active attempt (the database decides which of two dispatches wins, T05).
    """

    def act(change: Change) -> dict[str, Json]:
        return {"attempt": _append(change, actor, task_id, base, reason)}

    request: dict[str, Json] = {"task": task_id, "base": base.branch, "sha": base.sha}
    answer = perform(store, world, Command("dispatch", actor, request, reason, key), act)
    attempt_id = string(answer, "attempt")
    emit(Moment.DISPATCHED, world=world, task=task_id, attempt=attempt_id)
    return attempt_id


def _append(change: Change, actor: str, task_id: str, base: Base, reason: str | None) -> str:
    tx, world = change.tx, change.world.id
    task = board.task(tx, world, task_id)
    order = board.work_order(tx, world, task.work_order)
    latest = attempts.latest(tx, world, task_id)
    _check(task, order, active=latest is not None and latest.ended_at is None)
    attempt_id = mint("a")
    number = 1 if latest is None else int(latest.number) + 1
    workflow = canonical({"v": 1, "steps": [list(step) for step in WORKFLOW]})
    tick = change.world.tick
    attempts.add(tx, world, tick, attempt_id, task_id, number, workflow, actor, reason)
    attempts.add_steps(tx, world, attempt_id, [(name, kind) for name, kind in WORKFLOW])
    repository = board.repository(tx, world, order.repository)
    _add_dispatch(change, task, order, repository, attempt_id, number, base, clock.read(tx))
    board.set_work_order_state(tx, world, order.id, WorkOrderState.ACTIVE, order.approved)
    wake(tx)
    return attempt_id


def _check(task: Task, order: WorkOrder, *, active: bool) -> None:
    if order.state not in (WorkOrderState.APPROVED, WorkOrderState.ACTIVE):
        raise NotApproved(f"work order {order.id} is {order.state}; approve it first")
    if task.column not in DISPATCHABLE:
        raise WrongState(f"task {task.id} hangs in {task.column}; move it to ready first")
    if active:
        raise ActiveAttempt(f"task {task.id} has an active attempt")


def _add_dispatch(
    change: Change, task: Task, order: WorkOrder, repository: Repository, attempt: str, number: int,
    base: Base, at: datetime,
) -> None:  # fmt: skip
    world, spec = change.world, order.specification
    earlier = world.fact(task.entity, author.DISPATCH)
    sequence = 1 if earlier is None else integer(earlier.value, "sequence") + 1
    activity = dispatch_id(task.entity, sequence)
    provider = f"{repository.forge}:{repository.id}"
    operation = operation_id(ActivityKey(world.id, author.NAME, activity), provider)
    value: dict[str, Json] = {
        "dispatch_id": activity,
        "sequence": sequence,
        "attempt": attempt,
        "number": number,
        "step": author.STEP,
        "task": task.id,
        "work_order": order.id,
        "work_order_digest": order.digest,
        "operation": operation,
        "provider": provider,
        "repository": {"id": repository.id, "name": repository.name, "forge": repository.forge},
        "base": {"branch": base.branch, "sha": base.sha},
        "branch": f"fencepost/{slug(string(spec, 'title'))}-{operation[:10]}",
        "title": string(spec, "title"),
        "paths": strings(spec, "paths"),
        "command": strings(spec, "command"),
        "checks": strings(spec, "checks"),
        "executor": string(spec, "executor"),
        "timeout_s": integer(spec, "timeout_s"),
        "check_timeout_s": integer(spec, "check_timeout_s"),
        "author": {
            "name": "Fencepost",
            "email": "fencepost@localhost",
            "when": int(at.timestamp()),
        },
    }
    world.put(task.entity, author.DISPATCH, 1, value)
    change.decisions += [
        StepDispatched(attempt, author.STEP, author.NAME, activity),
        TaskMoved(attempt, Column.IN_PROGRESS),
    ]
