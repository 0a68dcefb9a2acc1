"""Claims: taking, renewing, handing back and holding, by the database's own functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import ColumnElement, func, select, text, union_all, update

from app.domain.checks import WAITING
from app.domain.failure import FailureClass
from app.domain.identity import (
    ActivityId,
    ActivityKey,
    Claim,
    ClaimToken,
    DeliveryNumber,
    Fence,
    Kind,
    WorldId,
)
from app.domain.pull_request import LIMITED
from app.domain.recovery import Stop
from app.store import clock
from app.store.begun import fences_begun
from app.store.engine import Tx
from app.store.fencing import of_key
from app.store.schema import claims, effect_calls, starts, unknowns


class Verdict(StrEnum):
    """Why a message got no claim (Q10)."""

    DUPLICATE = "duplicate"
    LATE = "late"
    SUPERSEDED = "superseded"
    RECORDED = "recorded"
    HELD = "held"
    ENDED = "ended"
    UNKNOWN_IDENTITY = "unknown_identity"
    PAUSED = "paused"  #: its queue is; the delivery waits in Postgres until that is over


@dataclass(frozen=True, slots=True)
class Renewed:
    """A claim that is still live, and what was asked of its activity."""

    key: ActivityKey
    fence: Fence
    stop: Stop | None


def take(tx: Tx, key: ActivityKey, delivery: DeliveryNumber, worker: str) -> Claim | Verdict:
    """The next fence and its token for the delivery of a message, or why not."""
    row = tx.execute(
        text(
            "select verdict, fence, token"
            " from fencepost.claim_unless_paused(:w, :k, :a, :d, :worker)"
        ),
        {"w": key.world, "k": key.kind, "a": key.activity, "d": delivery, "worker": worker},
    ).one()
    if row.verdict is not None:
        return Verdict(row.verdict)
    return Claim(key, Fence(row.fence), ClaimToken(row.token))


def take_for_control(tx: Tx, key: ActivityKey) -> Claim | Verdict:
    """The control plane's own fence, for an ending that no worker can record (L9)."""
    row = tx.execute(
        text("select verdict, fence, token from fencepost.claim_for_control(:w, :k, :a)"),
        {"w": key.world, "k": key.kind, "a": key.activity},
    ).one()
    if row.verdict is not None:
        return Verdict(row.verdict)
    return Claim(key, Fence(row.fence), ClaimToken(row.token))


def record_verdict(
    tx: Tx, key: ActivityKey, delivery: DeliveryNumber, verdict: Verdict, worker: str
) -> None:
    """Keep why a message was dropped."""
    tx.execute(
        select(
            func.fencepost.record_verdict(
                key.world, key.kind, key.activity, delivery, verdict, worker
            )
        )
    )


def renew(tx: Tx, held: Sequence[Claim]) -> list[Renewed]:
    """Prolong every lease of a process in one statement; what is not returned is lost."""
    rows = tx.execute(
        text(
            "select world_id, kind, activity_id, fence, stop"
            " from fencepost.renew(cast(:held as jsonb))"
        ),
        {"held": json.dumps([_as_row(claim) for claim in held])},
    )
    return [
        Renewed(
            ActivityKey(WorldId(row.world_id), Kind(row.kind), ActivityId(row.activity_id)),
            Fence(row.fence),
            Stop(row.stop) if row.stop else None,
        )
        for row in rows
    ]


def release(tx: Tx, claim: Claim, detail: str, retry_after: timedelta) -> None:
    """Hand the work back, to be claimed again no sooner than after this time."""
    key = claim.key
    tx.execute(
        text("select fencepost.release(:w, :k, :a, :f, :token, :detail, :retry_after)"),
        {"w": key.world, "k": key.kind, "a": key.activity, "f": claim.fence, "token": claim.token,
         "detail": detail[:2000], "retry_after": retry_after},
    )  # fmt: skip


def hold(tx: Tx, claim: Claim, code: str, detail: str) -> None:
    """Keep the work as unknown until a person decides."""
    key = claim.key
    tx.execute(
        text("select fencepost.hold(:w, :k, :a, :f, :token, :code, :detail)"),
        {"w": key.world, "k": key.kind, "a": key.activity, "f": claim.fence, "token": claim.token,
         "code": code, "detail": detail[:8000]},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpenClaim:
    """A claim that has not ended, seen from the control plane."""

    key: ActivityKey
    fence: Fence


def expired(tx: Tx, limit: int = 500) -> list[OpenClaim]:
    """Open claims whose lease ran out."""
    rows = tx.execute(
        select(claims.c.world_id, claims.c.kind, claims.c.activity_id, claims.c.fence)
        .where(claims.c.ended.is_(None), claims.c.lease_until <= clock.now())
        .limit(limit)
    )
    return [
        OpenClaim(ActivityKey(WorldId(r[0]), Kind(r[1]), ActivityId(r[2])), Fence(r[3]))
        for r in rows
    ]


def end_if_expired(tx: Tx, key: ActivityKey, fence: Fence) -> bool:
    """End a claim whose lease has lost its authority; the activity's row is locked already."""
    tx.execute(
        select(claims.c.fence).where(of_key(claims, key), claims.c.fence == fence).with_for_update()
    )
    done = tx.execute(
        update(claims).where(of_key(claims, key), claims.c.fence == fence)
        .where(claims.c.ended.is_(None), claims.c.lease_until <= clock.now())
        .values(ended=clock.now(), end_cause="expired").returning(claims.c.fence)
    )  # fmt: skip
    return done.scalar() is not None


def fruitless(tx: Tx, key: ActivityKey) -> int:
    """How many claims ended since the last one that started, called, or asked a person.

    Those that a forge sent away until a time of its own are not counted (G04), nor are those that
    looked in vain at what goes on elsewhere, and whatever was before them.
    """
    marks = union_all(
        *(
            select(table.c.fence).where(of_key(table, key))
            for table in (starts, effect_calls, unknowns)
        ),
        select(claims.c.fence).where(_looked(key)),
    ).subquery()
    newest = select(func.coalesce(func.max(marks.c.fence), 0)).scalar_subquery()
    return tx.execute(
        select(func.count()).select_from(claims)
        .where(of_key(claims, key), claims.c.ended.is_not(None), claims.c.fence > newest)
        .where(func.coalesce(claims.c.end_detail, "").not_like(f"{LIMITED}: %"))
    ).scalar_one()  # fmt: skip


def last_words(tx: Tx, key: ActivityKey) -> str:
    """How the newest claim that had a start ended, with code and message; empty without any."""
    begun = fences_begun(key).subquery()
    row = tx.execute(
        select(claims.c.end_cause, claims.c.end_detail)
        .where(of_key(claims, key), claims.c.fence.in_(select(begun.c.fence)))
        .order_by(claims.c.fence.desc()).limit(1)
    ).one_or_none()  # fmt: skip
    if row is None:
        return ""
    if row.end_cause == "expired":
        return f"; the last: {FailureClass.LOST_WORKER}: its lease ran out"
    detail = str(row.end_detail or row.end_cause)
    classed, _, rest = detail.partition(": ")
    return f"; the last: {rest if classed in set(FailureClass) else detail}"


def tries(tx: Tx, key: ActivityKey, failure: FailureClass) -> int:
    """How many claims a failure of this class has ended since a person was last asked (T09).

    A claim that looked at what goes on elsewhere, and found it going on, begins the count anew.
    """
    marks = union_all(
        select(unknowns.c.fence).where(of_key(unknowns, key)),
        select(claims.c.fence).where(_looked(key)),
    ).subquery()
    asked = select(func.coalesce(func.max(marks.c.fence), 0))
    lost = claims.c.end_cause == "expired"
    released = (claims.c.end_cause == "released") & claims.c.end_detail.startswith(f"{failure}: ")
    return tx.execute(
        select(func.count()).select_from(claims)
        .where(of_key(claims, key), claims.c.fence > asked.scalar_subquery())
        .where(lost if failure is FailureClass.LOST_WORKER else released)
    ).scalar_one()  # fmt: skip


def looks(tx: Tx, key: ActivityKey) -> int:
    """How many claims looked at what goes on elsewhere, and were handed back to look again."""
    return tx.execute(select(func.count()).select_from(claims).where(_looked(key))).scalar_one()


def released_before(tx: Tx, claim: Claim, detail: str) -> int:
    """How many claims in a row before this one were released for this reason."""
    rows = tx.execute(
        select(claims.c.end_cause, claims.c.end_detail)
        .where(of_key(claims, claim.key), claims.c.fence < claim.fence)
        .order_by(claims.c.fence.desc()).limit(20)
    )  # fmt: skip
    count = 0
    for row in rows:
        if row.end_cause != "released" or not str(row.end_detail).startswith(detail):
            break
        count += 1
    return count


def _looked(key: ActivityKey) -> ColumnElement[bool]:
    return of_key(claims, key) & claims.c.end_detail.like(f"{WAITING}: %")


def _as_row(claim: Claim) -> dict[str, str | int]:
    key = claim.key
    return {"w": key.world, "k": key.kind, "a": key.activity, "f": claim.fence, "t": claim.token}
