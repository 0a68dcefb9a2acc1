"""Approving a work order."""

from __future__ import annotations

from app.domain.board import WorkOrderState
from app.domain.digest import Json
from app.domain.errors import WrongState
from app.domain.identity import WorldId
from app.store import board
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform

_OPEN = (WorkOrderState.DRAFT, WorkOrderState.SUBMITTED)


def approve(
    store: Store, world: WorldId, actor: str, work_order: str, *, key: str | None = None
) -> None:
    """Allow exactly what the work order says now; approval alone starts nothing (O01)."""

    def act(change: Change) -> dict[str, Json]:
        order = board.work_order(change.tx, world, work_order)
        if order.state not in _OPEN:
            raise WrongState(f"work order {work_order} is {order.state}, not open for approval")
        board.set_work_order_state(
            change.tx, world, work_order, WorkOrderState.APPROVED, order.digest
        )
        return {"digest": order.digest}

    perform(store, world, Command("approve", actor, {"work_order": work_order}, key=key), act)
