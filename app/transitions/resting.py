"""What may only be done to a work order while nothing of it is under way."""

from __future__ import annotations

from app.domain.errors import ActiveAttempt
from app.domain.identity import WorldId
from app.store import work_orders
from app.store.engine import Tx


def require_rest(tx: Tx, world: WorldId, work_order: str) -> None:
    """Refuse while an attempt of the work order has not ended: ActiveAttempt."""
    for attempt in work_orders.active_attempts(tx, world, work_order):
        raise ActiveAttempt(
            f"attempt {attempt} of work order {work_order} is under way",
            hint=f"let it end, or `fencepost attempts cancel {attempt}`",
        )
