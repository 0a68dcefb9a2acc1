"""How busy everything is: what waits, what runs, and what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select

from app.store.dead_letters import is_open
from app.store.engine import Tx
from app.store.schema import (
    attempts,
    dead_letters,
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
    forge: str


def counts(tx: Tx) -> Counts:
    """How many attempts are active, activities unknown, and dead letters open."""
    active = select(func.count()).select_from(attempts).where(attempts.c.ended_at.is_(None))
    held = select(func.count()).select_from(unknowns).where(unknowns.c.decided_at.is_(None))
    dead = select(func.count()).select_from(dead_letters).where(is_open())
    return Counts(*(tx.execute(query).scalar_one() for query in (active, held, dead)))


def dead_by_cause(tx: Tx) -> dict[str, int]:
    """How many dead letters are open, by their cause."""
    rows = tx.execute(
        select(dead_letters.c.cause, func.count()).where(is_open()).group_by(dead_letters.c.cause)
    )
    return {row[0]: row[1] for row in rows}


def repositories_seen(tx: Tx) -> list[RepositorySeen]:
    """Every repository, by name."""
    rows = tx.execute(
        select(
            repositories.c.repository_id, repositories.c.name, repositories.c.url,
            repositories.c.forge,
        )
        .order_by(repositories.c.name)
    )  # fmt: skip
    return [RepositorySeen(*row) for row in rows]
