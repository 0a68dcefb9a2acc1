"""Completing a work order."""

from __future__ import annotations

from app.domain.digest import Json
from app.domain.errors import UnsettledWork
from app.domain.identity import WorldId
from app.domain.lifecycle import after
from app.store import board, work_orders
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform
from app.transitions.resting import require_rest


def complete(
    store: Store, world: WorldId, actor: str, work_order: str, *, reason: str | None = None,
    key: str | None = None,
) -> None:  # fmt: skip
    """Say that a work order is done: each of its tasks is done or canceled, nothing runs.

    Otherwise it is UnsettledWork, or ActiveAttempt.
    """

    def act(change: Change) -> dict[str, Json]:
        order = board.work_order(change.tx, world, work_order)
        state = after(order.id, order.state, "complete")
        require_rest(change.tx, world, order.id)
        if left := work_orders.open_tasks(change.tx, world, order.id):
            raise UnsettledWork(
                f"work order {order.id} has open tasks: {', '.join(left)}",
                hint=f"merge or close its request, then `fencepost tasks move {left[0]} done`",
            )
        board.set_work_order_state(change.tx, world, work_order, state, order.approved)
        return {"digest": order.digest}

    perform(store, world, Command("complete", actor, {"work_order": work_order}, reason, key), act)
