"""Approving a work order."""

from __future__ import annotations

from app.domain.board import WorkOrderState
from app.domain.errors import WrongState
from app.domain.identity import WorldId
from app.store import board
from app.store.engine import Store
from app.transitions.change import Command, changing

_OPEN = (WorkOrderState.DRAFT, WorkOrderState.SUBMITTED)


def approve(store: Store, world: WorldId, actor: str, work_order: str) -> None:
    """Allow exactly what the work order says now; approval alone starts nothing (O01)."""
    subject = {"work_order": work_order}
    with store.begin() as tx, changing(tx, world, Command("approve", actor, subject)):
        order = board.work_order(tx, world, work_order)
        if order.state not in _OPEN:
            raise WrongState(f"work order {work_order} is {order.state}, not open for approval")
        board.set_work_order_state(tx, world, work_order, WorkOrderState.APPROVED, order.digest)
