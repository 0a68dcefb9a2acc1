"""Hints of webhooks: each is heeded once, and only lets who waits look sooner (G07)."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from app.domain.hint import Hint
from app.domain.identity import ActivityId, ActivityKey, Kind, WorldId
from app.store import clock
from app.store.engine import Tx
from app.store.fencing import of_key
from app.store.schema import activities, claims, webhook_deliveries

#: However many hints come: between two looks of one activity there is at least this.
PAUSE = timedelta(seconds=2)
#: A forge sends nothing again after three days.
KEPT = timedelta(days=4)


def add(tx: Tx, hint: Hint) -> bool:
    """Keep the id of a delivery; False where it came before."""
    row = {
        "delivery_id": hint.delivery, "event": hint.event, "repository": hint.repository,
        "shas": list(hint.shas),
    }  # fmt: skip
    once = insert(webhook_deliveries).values(row).on_conflict_do_nothing()
    return tx.execute(once.returning(webhook_deliveries.c.event)).scalar() is not None


def bring_forward(tx: Tx, hint: Hint) -> list[ActivityKey]:
    """Let those that watch one of its commits look soon, if they wait; which they are."""
    rows = tx.execute(
        _BRING_FORWARD, {"url": hint.repository, "shas": list(hint.shas), "pause": PAUSE}
    )
    return [ActivityKey(WorldId(row[0]), Kind(row[1]), ActivityId(row[2])) for row in rows]


_BRING_FORWARD = text("""
update fencepost.deliveries as d
   set not_before = least(d.not_before, greatest(clock_timestamp(), d.created_at + :pause))
  from fencepost.activities as a
 where a.kind = 'forge.checks' and fencepost.checked_head(a.request) = any(cast(:shas as text[]))
   and convert_from(a.request, 'UTF8')::jsonb #>> '{repository,url}' = :url
   and d.world_id = a.world_id and d.kind = a.kind and d.activity_id = a.activity_id
   and d.claimed_fence is null and d.replaced_at is null and d.published_at is null
   and d.not_before > greatest(clock_timestamp(), d.created_at + :pause)
returning d.world_id, d.kind, d.activity_id
""")


def came_meanwhile(tx: Tx, key: ActivityKey) -> bool:
    """Whether a hint came since the newest claim of what watches began its look."""
    began = select(func.max(claims.c.claimed_at)).where(of_key(claims, key)).scalar_subquery()
    watched = select(func.fencepost.checked_head(activities.c.request)).where(
        of_key(activities, key)
    )
    return bool(
        tx.execute(
            select(
                select(1).where(webhook_deliveries.c.received_at >= began)
                .where(watched.scalar_subquery() == func.any(webhook_deliveries.c.shas))
                .exists()
            )
        ).scalar_one()
    )  # fmt: skip


def forget_old(tx: Tx) -> int:
    """Delete those that nobody will send again."""
    old = delete(webhook_deliveries).where(webhook_deliveries.c.received_at < clock.now() - KEPT)
    return tx.execute(old).rowcount
