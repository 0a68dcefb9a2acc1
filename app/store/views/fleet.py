"""How busy everything is: what waits, what runs, and what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select

from app.store.engine import Tx
from app.store.schema import (
    attempts,
    dead_letters,
    replays,
    repositories,
    unknowns,
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals over every world."""

    active: int
    unknown: int
    dead: int


@dataclass(frozen=True, slots=True)
class RepositorySeen:
    """A repository that a world knows."""

    id: str
    name: str
    url: str


def counts(tx: Tx) -> Counts:
    """How many attempts are active, activities unknown, and letters dead and not replayed."""
    active = select(func.count()).select_from(attempts).where(attempts.c.ended_at.is_(None))
    held = select(func.count()).select_from(unknowns).where(unknowns.c.decided_at.is_(None))
    replayed = select(1).where(replays.c.dead_letter_id == dead_letters.c.dead_letter_id).exists()
    dead = select(func.count()).select_from(dead_letters).where(~replayed)
    return Counts(*(tx.execute(query).scalar_one() for query in (active, held, dead)))


def dead_by_cause(tx: Tx) -> dict[str, int]:
    """How many letters are dead, by their cause."""
    rows = tx.execute(
        select(dead_letters.c.cause, func.count()).group_by(dead_letters.c.cause)
    )  # fmt: skip
    return {row[0]: row[1] for row in rows}


def repositories_seen(tx: Tx) -> list[RepositorySeen]:
    """Every repository, by name."""
    rows = tx.execute(
        select(repositories.c.repository_id, repositories.c.name, repositories.c.url)
        .order_by(repositories.c.name)
    )  # fmt: skip
    return [RepositorySeen(*row) for row in rows]
