"""Many attempts at once: one bounded question for all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any, cast

from sqlalchemy import and_, or_, select

from app.domain.board import StepState
from app.domain.digest import Json, parse
from app.domain.identity import WorldId
from app.kinds import pull_request
from app.kinds.failure import signature_of
from app.kinds.reading import items, string
from app.store import clock
from app.store.engine import Tx
from app.store.schema import (
    activities,
    attempts,
    claims,
    idempotency_keys,
    payloads,
    results,
    settlements,
    steps,
    tasks,
    unknowns,
)

MOST = 2_000  #: ids of one question


@dataclass(frozen=True, slots=True)
class Begun:
    """What was begun under a key: the task that stands for it now, and its latest attempt."""

    task: str
    is_first: bool  #: the work order's own task, not one that was added for what was left to do
    attempt: str | None = None  #: None: it was broken off before
    outcome: str | None = None  #: None: it is under way


@dataclass(frozen=True, slots=True)
class Stand:
    """How one attempt stands."""

    attempt: str
    number: int
    created_at: datetime
    ended_at: datetime | None
    outcome: str | None
    step: str  #: the newest that was begun
    worker: str | None  #: who holds it
    waits: str | None  #: the bound that holds it back (O08)
    unknown: str | None  #: code of the open one
    unknown_detail: str | None
    is_settled: bool  #: it ended, and so did every activity that it became
    now: datetime  #: by the database's clock


@dataclass(frozen=True, slots=True)
class Came:
    """What an attempt that has ended has come to."""

    request: Mapping[str, Json] | None = None  #: the pull request
    step: str | None = None  #: that failed
    code: str | None = None  #: of its first friction
    detail: str = ""
    line: str = ""  #: what failed in its own words, without what differs from run to run (T11)


def begun(tx: Tx, world: WorldId, keys: Collection[str]) -> dict[str, Begun]:
    """What was begun under each of these keys of a draft; none where nothing was."""
    rows = tx.execute(
        select(idempotency_keys.c.key, idempotency_keys.c.answer)
        .where(idempotency_keys.c.world_id == world, idempotency_keys.c.key.in_(keys))
    )  # fmt: skip
    found = {row.key: string(_object(row.answer), "task") for row in rows}
    last = dict(_last_of(tx, world, set(found.values())))
    latest = _latest(tx, world, set(last.values()))
    return {
        key: replace(
            latest.get(last[task], Begun(last[task], is_first=True)), is_first=last[task] == task
        )
        for key, task in found.items()
    }


def stands(tx: Tx, world: WorldId, ids: Collection[str]) -> list[Stand]:
    """How each of these attempts stands, in one statement."""
    here = (activities.c.world_id == steps.c.world_id) & (activities.c.kind == steps.c.kind)
    query = (
        select(
            attempts.c.attempt_id, attempts.c.number, attempts.c.created_at, attempts.c.ended_at,
            attempts.c.outcome, steps.c.name, steps.c.waits_for, activities.c.fence,
            claims.c.worker, settlements.c.tick, unknowns.c.code, unknowns.c.detail,
            clock.now().label("now"),
        )
        .join(steps, _same(steps, attempts, "attempt_id"))
        .outerjoin(activities, here & (activities.c.activity_id == steps.c.activity_id))
        .outerjoin(claims, and_(_same(claims, activities, "kind", "activity_id", "fence"),
                                claims.c.ended.is_(None)))
        .outerjoin(settlements, _same(settlements, activities, "kind", "activity_id"))
        .outerjoin(unknowns, and_(_same(unknowns, activities, "kind", "activity_id"),
                                  unknowns.c.decided_at.is_(None)))
        .where(attempts.c.world_id == world, attempts.c.attempt_id.in_(ids))
        .where(or_(steps.c.activity_id.is_not(None), steps.c.waits_for.is_not(None),
                   steps.c.position == 1))
        .order_by(attempts.c.attempt_id, steps.c.position)
    )  # fmt: skip
    rows = tx.execute(query).all()
    return [_stand(tuple(one)) for _, one in groupby(rows, key=lambda row: row.attempt_id)]


def came(tx: Tx, world: WorldId, ids: Collection[str]) -> dict[str, Came]:
    """What each of these attempts has come to, from what was recorded of its steps."""
    here = (results.c.world_id == steps.c.world_id) & (results.c.kind == steps.c.kind)
    rows = tx.execute(
        select(steps.c.attempt_id, steps.c.name, steps.c.state, payloads.c.bytes)
        .outerjoin(results, here & (results.c.activity_id == steps.c.activity_id))
        .outerjoin(payloads, and_(payloads.c.world_id == results.c.world_id,
                                  payloads.c.digest == results.c.digest))
        .where(steps.c.world_id == world, steps.c.attempt_id.in_(ids))
        .where(or_(steps.c.kind == pull_request.NAME,
                   steps.c.state.in_([StepState.FAILED, StepState.CANCELED])))
        .order_by(steps.c.attempt_id, steps.c.position)
    )  # fmt: skip
    found = dict.fromkeys(ids, Came())
    for row in rows:
        found[row.attempt_id] = _came(found[row.attempt_id], row)
    return found


def _last_of(tx: Tx, world: WorldId, named: set[str]) -> Iterator[tuple[str, str]]:
    """Each task, and the last of its line of canonical children (T01)."""
    now = {task: task for task in named}
    while now:
        rows = tx.execute(
            select(tasks.c.parent_id, tasks.c.task_id)
            .where(tasks.c.world_id == world, tasks.c.parent_id.in_(set(now.values())))
            .where(tasks.c.canonical)
        )  # fmt: skip
        child = {row.parent_id: row.task_id for row in rows}
        yield from ((task, last) for task, last in now.items() if last not in child)
        now = {task: child[last] for task, last in now.items() if last in child}


def _latest(tx: Tx, world: WorldId, named: set[str]) -> dict[str, Begun]:
    rows = tx.execute(
        select(attempts.c.task_id, attempts.c.attempt_id, attempts.c.outcome)
        .where(attempts.c.world_id == world, attempts.c.task_id.in_(named))
        .order_by(attempts.c.task_id, attempts.c.number.desc()).distinct(attempts.c.task_id)
    )  # fmt: skip
    return {row.task_id: Begun(row.task_id, True, row.attempt_id, row.outcome) for row in rows}


def _stand(rows: Sequence[Any]) -> Stand:
    last = rows[-1]
    held = next((row for row in rows if row.code is not None), None)
    settled = all(row.tick is not None for row in rows if row.fence is not None)
    return Stand(
        last.attempt_id, last.number, last.created_at, last.ended_at, last.outcome,
        next((row.name for row in reversed(rows) if row.worker), last.name),
        next((row.worker for row in rows if row.worker), None),
        next((row.waits_for for row in rows if row.waits_for), None),
        held and held.code, held and held.detail,
        last.ended_at is not None and settled, last.now,
    )  # fmt: skip


def _came(before: Came, row: Any) -> Came:
    seen = {} if row.bytes is None else _object(row.bytes)
    request = seen.get("pull_request")
    if isinstance(request, Mapping):
        before = replace(before, request=request)
    if before.code is not None or row.state not in (StepState.FAILED, StepState.CANCELED):
        return before
    if row.bytes is None:  # a gate that a person rejected has no result
        return replace(before, step=row.name, code="gate_rejected")
    first = next(iter(items(seen, "frictions")), {"code": "command_failed", "detail": ""})
    line = signature_of(row.name, seen)[0].line
    return replace(
        before, step=row.name, code=string(first, "code"), detail=string(first, "detail"), line=line
    )


def _object(data: bytes) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", parse(bytes(data)))


def _same(one: Any, other: Any, *names: str) -> Any:
    """Joins two tables of one world by columns of the same name."""
    return and_(*[one.c[name] == other.c[name] for name in ("world_id", *names)])
