"""Unknowns: work whose outcome nothing proves, kept for a person, and what persons decided."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import insert, select, update

from app.domain.decision import Decided, Decision
from app.domain.identity import ActivityKey, Fence
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import keyed, of_key
from app.store.schema import activities, unknowns


@dataclass(frozen=True, slots=True)
class Held:
    """One unknown, and its decision if there is one."""

    fence: Fence
    code: str
    detail: str
    decision: str | None
    decided_by: str | None


def open_for_control(tx: Tx, key: ActivityKey, code: str, detail: str) -> None:
    """Hold an activity without a claim of one's own; its row is locked already."""
    fence = tx.execute(select(activities.c.fence).where(of_key(activities, key))).scalar_one()
    tx.execute(insert(unknowns).values(**keyed(key), fence=fence, code=code, detail=detail))


def find_open(tx: Tx, key: ActivityKey) -> tuple[str, str] | None:
    """Code and detail of the open unknown of an activity."""
    row = tx.execute(
        select(unknowns.c.code, unknowns.c.detail)
        .where(of_key(unknowns, key), unknowns.c.decided_at.is_(None))
    ).one_or_none()  # fmt: skip
    return (row.code, row.detail) if row else None


def get(tx: Tx, key: ActivityKey, fence: Fence) -> Held | None:
    """The unknown that the claim with this fence left, open or decided."""
    row = tx.execute(
        select(
            unknowns.c.fence, unknowns.c.code, unknowns.c.detail, unknowns.c.decision,
            unknowns.c.decided_by,
        ).where(of_key(unknowns, key), unknowns.c.fence == fence)
    ).one_or_none()  # fmt: skip
    return None if row is None else Held(Fence(row[0]), row[1], row[2], row[3], row[4])


def decide(
    tx: Tx, key: ActivityKey, one: Decided, actor: str, reason: str, tick: int
) -> None:  # fmt: skip
    """Write a decision down, once; world and activity are locked, and the unknown is open."""
    tx.execute(
        update(unknowns)
        .where(of_key(unknowns, key), unknowns.c.fence == one.fence)
        .where(unknowns.c.decided_at.is_(None))
        .values(
            decided_at=clock.now(), decision=one.decision, decided_by=actor, reason=reason,
            adopts=one.adopts, decided_tick=tick,
        )
    )  # fmt: skip


def decided(tx: Tx, key: ActivityKey) -> list[Decided]:
    """Every decision of an activity, oldest first."""
    rows = tx.execute(
        select(unknowns.c.fence, unknowns.c.code, unknowns.c.decision, unknowns.c.adopts)
        .where(of_key(unknowns, key), unknowns.c.decided_at.is_not(None))
        .order_by(unknowns.c.fence)
    )  # fmt: skip
    return [Decided(Fence(row[0]), row[1], Decision(row[2]), row[3]) for row in rows]
