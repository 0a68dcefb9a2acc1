"""Dead letters as people list them: filtered, counted, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Table,
    Text,
    case,
    cast,
    func,
    or_,
    select,
)

from app.store.dead_letters import is_open
from app.store.engine import Tx
from app.store.schema import activities, attempts, dead_letters, dismissals, replays, tasks
from app.store.views.age import age
from app.store.views.listing import of_task

#: Of a message, that a text is looked for in.
SEARCHED = 4096


@dataclass(frozen=True, slots=True)
class Sought:
    """Which letters are meant; what is not said does not matter."""

    world: str | None = None
    kind: str | None = None  #: of the activity, or the queue of the message
    cause: str | None = None
    since: timedelta | None = None  #: kept within this time
    older_than: timedelta | None = None
    text: str | None = None  #: in detail, ids, title, or the beginning of the bytes
    is_open: bool = False  #: those alone that nobody has replayed or dismissed

    @property
    def is_everything(self) -> bool:
        """Nothing was said that tells one letter from another."""
        said = (self.world, self.kind, self.cause, self.since, self.older_than, self.text)
        return all(one is None for one in said)


@dataclass(frozen=True, slots=True)
class LetterLine:
    """One letter."""

    id: int
    cause: str
    kind: str  #: of the activity, or the queue of the message
    world: str | None
    attempt: str | None  #: that is dead
    title: str | None
    detail: str
    came: str | None  #: the attempt, or the delivery, of its replay; or `dismissed`
    age: timedelta


_kept = dead_letters.c


def letters_listed(tx: Tx, sought: Sought, limit: int) -> list[LetterLine]:
    """The newest letters that are sought."""
    came = func.coalesce(
        replays.c.attempt_id, "delivery " + cast(replays.c.delivery, Text),
        case((dismissals.c.dead_letter_id.is_not(None), "dismissed")),
    )  # fmt: skip
    query = (
        select(
            _kept.dead_letter_id, _kept.cause, _kind(), _kept.world_id, activities.c.attempt_id,
            tasks.c.title, _kept.detail,
            came, age(_kept.recorded_at),
        )
        .select_from(
            with_attempt().outerjoin(replays, _of_letter(replays))
            .outerjoin(dismissals, _of_letter(dismissals))
        )
        .where(*_conditions(sought))
        .order_by(_kept.dead_letter_id.desc()).limit(limit)
    )  # fmt: skip
    return [LetterLine(*row) for row in tx.execute(query)]


def letters_counted(tx: Tx, sought: Sought) -> int:
    """How many letters are sought."""
    return int(tx.execute(_those(sought, func.count())).scalar_one())


def newest_letter(tx: Tx) -> int:
    """The number of the newest letter of all; 0 without any."""
    found = tx.execute(select(func.max(_kept.dead_letter_id))).scalar()
    return 0 if found is None else int(found)


def letters_to_replay(
    tx: Tx, sought: Sought, batch: str, after: int, upto: int, limit: int
) -> list[int]:
    """Those that are open, oldest first; none that came of this very batch."""
    own = (
        select(1).where(replays.c.world_id == activities.c.world_id, replays.c.batch == batch)
        .where(replays.c.attempt_id == activities.c.attempt_id).exists()
    )  # fmt: skip
    query = (
        _those(sought, _kept.dead_letter_id)
        .where(_kept.dead_letter_id > after, _kept.dead_letter_id <= upto, is_open(), ~own)
        .order_by(_kept.dead_letter_id).limit(limit)
    )  # fmt: skip
    return list(tx.execute(query).scalars())


def letters_open(tx: Tx, sought: Sought, after: int, limit: int) -> list[int]:
    """Those that are sought and open, oldest first."""
    query = (
        _those(sought, _kept.dead_letter_id)
        .where(_kept.dead_letter_id > after, is_open())
        .order_by(_kept.dead_letter_id).limit(limit)
    )  # fmt: skip
    return list(tx.execute(query).scalars())


def replayed_in(tx: Tx, batch: str) -> int:
    """How many letters a batch has replayed so far."""
    query = select(func.count()).select_from(replays).where(replays.c.batch == batch)
    return tx.execute(query).scalar_one()


def _kind() -> ColumnElement[str]:
    """As the index has it, word for word."""
    return func.coalesce(_kept.kind, _kept.queue)


def _those(sought: Sought, what: ColumnElement[int]) -> Select[Any]:
    return select(what).select_from(with_attempt()).where(*_conditions(sought))


def with_attempt() -> FromClause:
    """Letters, with the activity, the attempt and the task of those that have any."""
    same = (
        (activities.c.world_id == _kept.world_id)
        & (activities.c.kind == _kept.kind)
        & (activities.c.activity_id == _kept.activity_id)
    )
    its = (attempts.c.world_id == activities.c.world_id) & (
        attempts.c.attempt_id == activities.c.attempt_id
    )
    return (
        dead_letters.outerjoin(activities, same).outerjoin(attempts, its)
        .outerjoin(tasks, of_task())
    )  # fmt: skip


def _conditions(sought: Sought) -> list[ColumnElement[bool]]:
    said: list[ColumnElement[bool]] = []
    now = func.statement_timestamp()  # an index cannot be asked about the wall clock
    if sought.world is not None:
        said.append(_kept.world_id == sought.world)
    if sought.kind is not None:
        said.append(_kind() == sought.kind)
    if sought.cause is not None:
        said.append(_kept.cause == sought.cause)
    if sought.since is not None:
        said.append(_kept.recorded_at >= now - sought.since)
    if sought.older_than is not None:
        said.append(_kept.recorded_at < now - sought.older_than)
    if sought.text is not None:
        said.append(_holds(sought.text))
    if sought.is_open:
        said.append(is_open())
    return said


def _holds(words: str) -> ColumnElement[bool]:
    """Whether a letter has these words anywhere that people look, in either case."""
    beginning = func.encode(func.substring(_kept.bytes, 1, SEARCHED), "escape")
    places = (
        _kept.detail, _kept.activity_id, activities.c.attempt_id,
        attempts.c.task_id, tasks.c.title, beginning,
    )  # fmt: skip
    return or_(*(place.icontains(words, autoescape=True) for place in places))


def _of_letter(table: Table) -> ColumnElement[bool]:
    return table.c.dead_letter_id == _kept.dead_letter_id
