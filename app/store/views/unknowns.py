"""Work held for a person, as people see it: listed, filtered, found by id, and what was tried."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, FromClause, func, or_, select

from app.domain.decision import NoOpenUnknown
from app.domain.errors import Ambiguous
from app.domain.identity import ActivityId, ActivityKey, Fence, Kind, WorldId
from app.store.engine import Tx
from app.store.schema import activities, attempts, repositories, tasks, unknowns, work_orders
from app.store.views.age import age
from app.store.views.listing import of_repository, of_task, of_work_order
from app.store.views.story import Entry, story_of

#: What tells of what was tried, and of what came of it.
TRIED = (
    "claim.taken", "claim.ended", "operation.bound", "start.recorded", "call.sent",
    "call.answered", "unknown.opened", "unknown.decided", "result.recorded",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sought:
    """Which unknowns are meant; what is not said does not matter."""

    world: str | None = None
    kind: str | None = None
    code: str | None = None
    repository: str | None = None  #: name or id
    older_than: timedelta | None = None
    text: str | None = None  #: in detail, ids or title

    @property
    def is_everything(self) -> bool:
        """Nothing was said that tells one from another."""
        said = (self.world, self.kind, self.code, self.repository, self.older_than, self.text)
        return all(one is None for one in said)


@dataclass(frozen=True, slots=True)
class UnknownSeen:
    """One unknown, and what it is about."""

    world: str
    kind: str
    activity: str
    fence: int  #: of the claim that was held
    code: str
    detail: str
    attempt: str
    title: str
    repository: str
    stop: str | None
    opened_at: datetime
    age: timedelta
    decision: str | None
    adopts: int | None
    decided_by: str | None
    reason: str | None
    decided_at: datetime | None
    tick: int | None

    @property
    def key(self) -> ActivityKey:
        return ActivityKey(WorldId(self.world), Kind(self.kind), ActivityId(self.activity))

    @property
    def id(self) -> str:
        """How it is named in full: the activity, and the claim that was held."""
        return f"{self.activity}.{self.fence}"


def unknowns_listed(
    tx: Tx, sought: Sought, *, is_open: bool = True, limit: int = 200, oldest_first: bool = False
) -> list[UnknownSeen]:
    """Those that wait for a person, or all of them; the newest first unless asked otherwise."""
    opened = unknowns.c.opened_at
    conditions = _conditions(sought)
    if is_open:
        conditions.append(unknowns.c.decided_at.is_(None))
    return _seen(tx, conditions, opened if oldest_first else opened.desc(), limit)


def unknown_named(tx: Tx, name: str) -> UnknownSeen:
    """The unknown that an id, or the beginning of one, names.

    `ACTIVITY.FENCE` is exact, whatever was decided since. An activity or an attempt alone means
    what is open there, or else what was decided last. NoOpenUnknown or Ambiguous.
    """
    prefix, _, fence = name.rpartition(".")
    if not (prefix and fence.isascii() and fence.isdigit()):
        prefix, fence = name.removesuffix("."), ""
    bare = prefix.rpartition("/")[2]
    conditions = [
        or_(
            unknowns.c.activity_id.startswith(bare, autoescape=True),
            activities.c.attempt_id.startswith(bare, autoescape=True),
        )
    ]
    if fence:
        conditions.append(unknowns.c.fence == int(fence))
    found = _seen(tx, conditions, unknowns.c.opened_at.desc(), 50) if bare else []
    found = [one for one in found if one.decision is None] or found
    if not found:
        raise NoOpenUnknown(f"nothing that was held for a person has an id like {name!r}")
    if len({one.key for one in found}) > 1:
        names = ", ".join(f"{one.activity[:12]}.{one.fence}" for one in found[:4])
        raise Ambiguous(f"{name!r} may be {names}")
    return found[0]


def tried(tx: Tx, seen: UnknownSeen) -> list[Entry]:
    """Every claim, start, call and answer of its activity, in order."""
    return [one for one in story_of(tx, seen.key) if one.what in TRIED]


def fence_of(seen: UnknownSeen) -> Fence:
    """The fence of the claim that was held."""
    return Fence(seen.fence)


def _seen(
    tx: Tx, conditions: list[ColumnElement[bool]], order: ColumnElement[Any], limit: int
) -> list[UnknownSeen]:
    rows = tx.execute(
        select(
            unknowns.c.world_id, unknowns.c.kind, unknowns.c.activity_id, unknowns.c.fence,
            unknowns.c.code, unknowns.c.detail, activities.c.attempt_id, tasks.c.title,
            repositories.c.name, activities.c.stop, unknowns.c.opened_at,
            age(unknowns.c.opened_at), unknowns.c.decision, unknowns.c.adopts,
            unknowns.c.decided_by, unknowns.c.reason, unknowns.c.decided_at,
            unknowns.c.decided_tick,
        )
        .select_from(_with_its_attempt()).where(*conditions).order_by(order).limit(limit)
    )  # fmt: skip
    values: list[tuple[Any, ...]] = [tuple(row) for row in rows]
    return [UnknownSeen(*row) for row in values]


def _with_its_attempt() -> FromClause:
    same = (
        (activities.c.world_id == unknowns.c.world_id)
        & (activities.c.kind == unknowns.c.kind)
        & (activities.c.activity_id == unknowns.c.activity_id)
    )
    its = (attempts.c.world_id == activities.c.world_id) & (
        attempts.c.attempt_id == activities.c.attempt_id
    )
    return (
        unknowns.join(activities, same).join(attempts, its).join(tasks, of_task())
        .join(work_orders, of_work_order()).join(repositories, of_repository())
    )  # fmt: skip


def _conditions(sought: Sought) -> list[ColumnElement[bool]]:
    said: list[ColumnElement[bool]] = []
    if sought.world is not None:
        said.append(unknowns.c.world_id == sought.world)
    if sought.kind is not None:
        said.append(unknowns.c.kind == sought.kind)
    if sought.code is not None:
        said.append(unknowns.c.code == sought.code)
    if sought.repository is not None:
        named = (repositories.c.name, repositories.c.repository_id)
        said.append(or_(*(column == sought.repository for column in named)))
    if sought.older_than is not None:
        said.append(unknowns.c.opened_at < func.statement_timestamp() - sought.older_than)
    if sought.text is not None:
        places = (
            unknowns.c.detail, unknowns.c.activity_id, activities.c.attempt_id, tasks.c.title,
        )  # fmt: skip
        said.append(or_(*(one.icontains(sought.text, autoescape=True) for one in places)))
    return said
