"""Dispatching a task: a new attempt, its steps, and the dispatch that the projector will find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.domain.board import AttemptOutcome, Column, TaskMoved, WorkOrderState
from app.domain.bounds import bound_of
from app.domain.budget import budget_of, exhausted, told
from app.domain.card import like_ready
from app.domain.digest import Json, canonical, text
from app.domain.errors import BudgetExhausted
from app.domain.event import EventType
from app.domain.identity import WorldId, mint
from app.domain.lifecycle import may_run
from app.domain.pull_request import LOCAL_FORGE
from app.domain.task import Latest, Standing, check_first, check_runnable
from app.domain.work_order import Budget
from app.events import Moment, emit
from app.kinds.order import ORDER
from app.kinds.reading import integer, mapping, string, strings
from app.store import board, budget
from app.store.board import Laid, Repository, Task, WorkOrder
from app.store.cards import Begun
from app.store.engine import Store, Tx
from app.store.listening import wake
from app.transitions.advance import advance
from app.transitions.change import Change, Command
from app.transitions.check_waiting import check_waiting
from app.transitions.perform import perform
from app.transitions.step import KIND_OF
from app.workflow.graph import compile_workflow, default_definition


@dataclass(frozen=True, slots=True)
class Base:
    """What the work starts from, as the forge has it."""

    branch: str
    sha: str


def dispatch(
    store: Store, world: WorldId, actor: str, task_id: str, base: Base, reason: str | None = None,
    *, work_order: str | None = None, key: str | None = None,
) -> str:  # fmt: skip
    """Append the first attempt of an approved task and return the attempt's id.

    Refused, each with a code of its own: a task of another world or of another work order than
    the one named, one that has a canonical child, one without an approved work order, a card in
    Inbox, Review, Done or Canceled (T01, T02), and a task with an active or an earlier attempt
    (T03), a work order whose budget is used up (T11), and a world in which as much waits as may
    (Q02). The database decides which of two dispatches wins (T05).
    """

    def check(standing: Standing) -> None:
        check_runnable(standing, work_order)
        check_first(standing)

    def act(change: Change) -> dict[str, Json]:
        return append(change, actor, task_id, base, reason, check)

    # the commit is found out, not asked for: whoever asks again may find another one
    request: dict[str, Json] = {"task": task_id, "base": base.branch}
    if work_order is not None:
        request["work_order"] = work_order
    answer = perform(store, world, Command("dispatch", actor, request, reason, key), act)
    attempt_id = string(answer, "attempt")
    emit(Moment.DISPATCHED, world=world, task=task_id, attempt=attempt_id)
    return attempt_id


def append(
    change: Change, actor: str, task_id: str, base: Base, reason: str | None,
    check: Callable[[Standing], None],
) -> dict[str, Json]:  # fmt: skip
    """Append an attempt that `check` does not refuse; earlier ones stay as they are (T04)."""
    tx, world = change.tx, change.world.id
    known = board.laid(tx, world, task_id)
    task, order = known.task, known.order
    latest = known.latest
    last = None if latest is None else Latest(latest.attempt_id, _outcome(latest.outcome))
    check(_standing(change, known, last))
    _check_budget(tx, world, order)
    check_waiting(tx, world)
    attempt_id = mint("a")
    number = 1 if latest is None else latest.number + 1
    definition = _workflow(order)
    steps = [(step.name, KIND_OF[step.kind]) for step in compile_workflow(definition).steps]
    change.cards.begin(Begun(attempt_id, task, number, canonical(definition), actor, reason, steps))
    _put_order(change, task, order, known.repository, attempt_id, number, base)
    change.tell(
        attempt_id, EventType.START if number == 1 else EventType.RETRY,
        number=number, actor=actor, reason=None if reason is None else text(reason),
    )  # fmt: skip
    change.decide(TaskMoved(attempt_id, Column.IN_PROGRESS))
    advance(change, attempt_id)
    if order.state is not WorkOrderState.ACTIVE:
        board.set_work_order_state(tx, world, order.id, WorkOrderState.ACTIVE, order.approved)
    wake(tx)
    return {"attempt": attempt_id, "sha": base.sha}


def _standing(change: Change, known: Laid, latest: Latest | None) -> Standing:
    order = known.order
    return Standing(
        task=known.task.id,
        column=known.task.column,
        work_order=order.id,
        order_state=order.state,
        may_run=may_run(order.state, order.digest, order.approved),
        canonical_child=known.canonical_child,
        latest=latest,
        like_ready=like_ready(change.settings),
    )


def _check_budget(tx: Tx, world: WorldId, order: WorkOrder) -> None:
    """Refuse another attempt than the budget has room for, and say what was tried (T11)."""
    bounds = budget_of(order.specification)
    if bounds == Budget():
        return
    tried = budget.tried(tx, world, order.id)
    if used_up := exhausted(bounds, tried):
        which = ", ".join(str(one) for one in used_up)
        raise BudgetExhausted(
            f"work order {order.id} has used up its budget: {which}; tried: {told(tried)}"
        )


def _outcome(stored: object) -> AttemptOutcome | None:
    return None if stored is None else AttemptOutcome(str(stored))


def _workflow(order: WorkOrder) -> Mapping[str, Json]:
    """The work order's workflow, else the road of its one command."""
    written = order.specification.get("workflow")
    if isinstance(written, Mapping):
        return written
    agent = order.specification.get("agent")
    return default_definition(
        strings(order.specification, "command"),
        strings(order.specification, "checks"),
        string(agent, "prompt") if isinstance(agent, Mapping) else None,
    )


def _place(repository: Repository) -> dict[str, Json]:
    """What steps must know of it; the local forge is found by the id alone."""
    place: dict[str, Json] = {
        "id": repository.id, "name": repository.name, "forge": repository.forge,
    }  # fmt: skip
    return place if repository.forge == LOCAL_FORGE else {**place, "url": text(repository.url)}


def _put_order(
    change: Change, task: Task, order: WorkOrder, repository: Repository, attempt: str, number: int,
    base: Base,
) -> None:  # fmt: skip
    """What every step's request is made from; the steps run what was approved, not later words."""
    spec = order.specification
    value: dict[str, Json] = {
        "attempt": attempt,
        "number": number,
        "task": task.id,
        "work_order": order.id,
        "work_order_digest": order.digest,
        "provider": f"{repository.forge}:{repository.id}",
        "repository": _place(repository),
        "base": {"branch": base.branch, "sha": base.sha},
        "title": string(spec, "title"),
        "paths": strings(spec, "paths"),
        "executor": string(spec, "executor"),
        "timeout_s": integer(spec, "timeout_s"),
        "check_timeout_s": integer(spec, "check_timeout_s"),
        "retry": mapping(spec, "retry"),
        "merge_bound": bound_of(spec),
        "author": {
            "name": "Fencepost",
            "email": "fencepost@localhost",
            "when": int(change.at.timestamp()),
        },
    }
    if "style" in spec:
        value["style"] = mapping(spec, "style")
    if "checkout" in spec:
        value["checkout"] = mapping(spec, "checkout")
        value["source"] = text(repository.url)  # what submodules are seen from
    change.world.put(task.entity, ORDER, 1, value)
