"""Cancelling a work order."""

from __future__ import annotations

from app.domain.digest import Json
from app.domain.identity import WorldId
from app.domain.lifecycle import after
from app.store import board
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform
from app.transitions.resting import require_rest


def cancel_work_order(
    store: Store, world: WorldId, actor: str, work_order: str, reason: str,
    *, key: str | None = None,
) -> None:  # fmt: skip
    """Give a work order up: nothing of it is dispatched any more.

    Its cards stay where they hang. An attempt under way is canceled first: ActiveAttempt.
    """

    def act(change: Change) -> dict[str, Json]:
        order = board.work_order(change.tx, world, work_order)
        state = after(order.id, order.state, "cancel")
        require_rest(change.tx, world, order.id)
        board.set_work_order_state(change.tx, world, work_order, state, order.approved)
        return {"digest": order.digest}

    request: dict[str, Json] = {"work_order": work_order}
    perform(store, world, Command("cancel_work_order", actor, request, reason, key), act)
