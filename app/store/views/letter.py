"""One dead letter as people see it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select

from app.domain.errors import NotFound
from app.store.engine import Tx
from app.store.schema import activities, attempts, dead_letters, dismissals, replays, tasks
from app.store.views.dead_letters import with_attempt

_kept = dead_letters.c


@dataclass(frozen=True, slots=True)
class ReplaySeen:
    """What came of a letter, by whom, and why."""

    batch: str
    actor: str
    reason: str
    activity: str
    attempt: str | None
    delivery: int | None
    tick: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class DismissalSeen:
    """Who said that nothing will come of a letter, and why."""

    actor: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LetterSeen:
    """One letter in full; a message's bytes are apart."""

    id: int
    cause: str
    detail: str
    at: datetime
    world: str | None
    kind: str | None
    activity: str | None
    attempt: str | None
    task: str | None
    title: str | None
    queue: str | None
    digest: str | None
    size: int | None
    replay: ReplaySeen | None
    dismissal: DismissalSeen | None


def letter_seen(tx: Tx, letter: int) -> LetterSeen:
    """One letter, and what came of it; NotFound."""
    row = tx.execute(
        select(
            _kept.dead_letter_id, _kept.cause, _kept.detail, _kept.recorded_at,
            _kept.world_id, _kept.kind, _kept.activity_id,
            activities.c.attempt_id, attempts.c.task_id, tasks.c.title, _kept.queue,
            _kept.digest, _kept.size,
        )
        .select_from(with_attempt()).where(_kept.dead_letter_id == letter)
    ).one_or_none()  # fmt: skip
    if row is None:
        raise NotFound(
            f"no dead letter {letter}", hint="list what there is: `fencepost dead-letters list`"
        )
    values: list[Any] = [*row, _replay_seen(tx, letter), _dismissal_seen(tx, letter)]
    return LetterSeen(*values)


def letter_behind(tx: Tx, world: str, attempt: str) -> LetterSeen | None:
    """The letter whose replay an attempt is."""
    found = tx.execute(
        select(replays.c.dead_letter_id)
        .where(replays.c.world_id == world, replays.c.attempt_id == attempt)
    ).scalar()  # fmt: skip
    return None if found is None else letter_seen(tx, found)


def _replay_seen(tx: Tx, letter: int) -> ReplaySeen | None:
    row: Row[tuple[object, ...]] | None = tx.execute(
        select(replays).where(replays.c.dead_letter_id == letter)
    ).one_or_none()
    if row is None:
        return None
    return ReplaySeen(
        row.batch, row.actor, row.reason, row.activity_id, row.attempt_id, row.delivery, row.tick,
        row.replayed_at,
    )  # fmt: skip


def _dismissal_seen(tx: Tx, letter: int) -> DismissalSeen | None:
    row = tx.execute(
        select(dismissals.c.actor, dismissals.c.reason, dismissals.c.dismissed_at)
        .where(dismissals.c.dead_letter_id == letter)
    ).one_or_none()  # fmt: skip
    return None if row is None else DismissalSeen(*row)
