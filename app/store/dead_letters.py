"""Dead letters: what could not be delivered, with its cause and its bytes or identity."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, insert, literal, select
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.dead_letter import LetterCause
from app.domain.errors import NotFound
from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, Kind, WorldId
from app.store.begun import fences_begun
from app.store.engine import Tx
from app.store.fencing import keyed, of_key
from app.store.schema import (
    activities,
    dead_letters,
    dismissals,
    replays,
)


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter: of an activity by its key, of a message by its bytes."""

    id: int
    cause: str
    key: ActivityKey | None
    bytes: bytes | None


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a letter: another attempt, or another delivery."""

    letter: int
    key: ActivityKey  #: that is dead, or that the message spoke of
    batch: str
    actor: str
    reason: str
    attempt: str | None
    delivery: DeliveryNumber | None
    tick: int | None  #: whose receipt began the attempt
    at: datetime | None = None


def add_activity(tx: Tx, key: ActivityKey, cause: LetterCause, detail: str) -> None:
    """Keep that an activity is dead; once an activity."""
    tx.execute(
        upsert(dead_letters)
        .values(**keyed(key), cause=cause, detail=detail)
        .on_conflict_do_nothing()
    )


def starts_of(tx: Tx, key: ActivityKey) -> tuple[int, int]:
    """How often an activity was started, processes and calls together, and how often it may be."""
    begun = fences_begun(key).subquery()
    count = select(func.count()).select_from(begun).scalar_subquery()
    row = tx.execute(select(count, activities.c.most_starts).where(of_key(activities, key))).one()
    return int(row[0]), int(row[1])


def bury_bytes(tx: Tx, queue: str, cause: LetterCause, message: bytes) -> int:
    """Keep a message that is no delivery of ours, and return its number (Q04)."""
    number: int = tx.execute(select(func.fencepost.bury_bytes(queue, cause, message))).scalar_one()
    return number


def get(tx: Tx, letter: int) -> Letter:
    """A letter; NotFound."""
    row = tx.execute(
        select(dead_letters).where(dead_letters.c.dead_letter_id == letter)
    ).one_or_none()
    if row is None:
        raise _none_such(letter)
    key = None
    if row.activity_id is not None:
        key = ActivityKey(WorldId(row.world_id), Kind(row.kind), ActivityId(row.activity_id))
    return Letter(row.dead_letter_id, row.cause, key, row.bytes)


def replay_of(tx: Tx, letter: int) -> Replay | None:
    """What came of a letter, if it was replayed."""
    row = tx.execute(select(replays).where(replays.c.dead_letter_id == letter)).one_or_none()
    if row is None:
        return None
    return Replay(
        row.dead_letter_id,
        ActivityKey(WorldId(row.world_id), Kind(row.kind), ActivityId(row.activity_id)),
        row.batch, row.actor, row.reason, row.attempt_id,
        None if row.delivery is None else DeliveryNumber(row.delivery), row.tick, row.replayed_at,
    )  # fmt: skip


def keep_replay(tx: Tx, done: Replay) -> None:
    """Write down what came of a letter; a second time is refused by the key."""
    tx.execute(
        insert(replays).values(
            **keyed(done.key), dead_letter_id=done.letter, batch=done.batch, actor=done.actor,
            reason=done.reason, attempt_id=done.attempt, tick=done.tick, delivery=done.delivery,
        )
    )  # fmt: skip


def asked_for(tx: Tx, batch: str) -> tuple[str, str] | None:
    """By whom, and why, a batch of replays was begun."""
    row = tx.execute(
        select(replays.c.actor, replays.c.reason).where(replays.c.batch == batch).limit(1)
    ).one_or_none()
    return None if row is None else (row.actor, row.reason)


def is_open() -> ColumnElement[bool]:
    """Whether a letter still waits for somebody: it was neither replayed nor dismissed."""
    seen_to = (
        select(1).where(table.c.dead_letter_id == dead_letters.c.dead_letter_id)
        .correlate(dead_letters).exists()
        for table in (replays, dismissals)
    )  # fmt: skip
    replayed, dismissed = seen_to
    return ~replayed & ~dismissed


def open_among(tx: Tx, letters: Collection[int]) -> int:
    """How many of these letters are open."""
    query = select(func.count()).select_from(dead_letters)
    those = dead_letters.c.dead_letter_id.in_(letters)
    return int(tx.execute(query.where(those, is_open())).scalar_one())


def dismiss(tx: Tx, letters: Collection[int], actor: str, reason: str) -> list[int]:
    """Write down that nothing will come of these letters; those that were open until now."""
    those = (
        select(dead_letters.c.dead_letter_id, literal(actor), literal(reason))
        .where(dead_letters.c.dead_letter_id.in_(letters), is_open())
        .order_by(dead_letters.c.dead_letter_id)
    )  # fmt: skip
    done = tx.execute(
        upsert(dismissals).from_select(["dead_letter_id", "actor", "reason"], those)
        .on_conflict_do_nothing().returning(dismissals.c.dead_letter_id)
    )  # fmt: skip
    return sorted(done.scalars())


def worlds_of(tx: Tx, letters: Collection[int]) -> dict[int, WorldId | None]:
    """The world that each of these letters is of; a message is of none. NotFound."""
    rows = tx.execute(
        select(dead_letters.c.dead_letter_id, dead_letters.c.world_id)
        .where(dead_letters.c.dead_letter_id.in_(letters))
    ).all()  # fmt: skip
    found = {row[0]: None if row[1] is None else WorldId(row[1]) for row in rows}
    for one in letters:
        if one not in found:
            raise _none_such(one)
    return found


def _none_such(letter: int) -> NotFound:
    return NotFound(
        f"no dead letter {letter}", hint="list what there is: `fencepost dead-letters list`"
    )
