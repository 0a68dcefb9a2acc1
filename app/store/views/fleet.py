"""How busy everything is: what waits, what runs, and what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select

from app.store.engine import Tx
from app.store.schema import (
    attempts,
    claims,
    dead_letters,
    deliveries,
    repositories,
    unknowns,
)
from app.store.views.age import age


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """The deliveries of one kind, as Postgres knows them."""

    kind: str
    waiting: int  #: not sent yet
    sent: int  #: sent and not claimed
    running: int  #: live claims
    oldest: timedelta | None  #: of those not claimed


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


def queues_seen(tx: Tx, kinds: list[str]) -> list[QueueSeen]:
    """One line for each kind."""
    return [_queue(tx, kind) for kind in kinds]


def counts(tx: Tx) -> Counts:
    """How many attempts are active, activities unknown, and letters dead."""
    active = select(func.count()).select_from(attempts).where(attempts.c.ended_at.is_(None))
    held = select(func.count()).select_from(unknowns).where(unknowns.c.decided_at.is_(None))
    dead = select(func.count()).select_from(dead_letters)
    return Counts(*(tx.execute(query).scalar_one() for query in (active, held, dead)))


def repositories_seen(tx: Tx) -> list[RepositorySeen]:
    """Every repository, by name."""
    rows = tx.execute(
        select(repositories.c.repository_id, repositories.c.name, repositories.c.url)
        .order_by(repositories.c.name)
    )  # fmt: skip
    return [RepositorySeen(*row) for row in rows]


def _queue(tx: Tx, kind: str) -> QueueSeen:
    is_open = deliveries.c.claimed_fence.is_(None) & deliveries.c.replaced_at.is_(None)
    sent = deliveries.c.published_at.is_not(None)
    row = tx.execute(
        select(
            func.count().filter(~sent), func.count().filter(sent),
            func.max(age(deliveries.c.created_at)),
        )
        .where(deliveries.c.kind == kind, is_open)
    ).one()  # fmt: skip
    running = tx.execute(
        select(func.count()).select_from(claims)
        .where(claims.c.kind == kind, claims.c.ended.is_(None))
    ).scalar_one()  # fmt: skip
    return QueueSeen(kind, row[0], row[1], running, row[2])
