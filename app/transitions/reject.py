"""Rejecting a work order."""

from __future__ import annotations

from app.domain.digest import Json
from app.domain.errors import BadInput
from app.domain.identity import WorldId
from app.domain.lifecycle import after
from app.store import board
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform


def reject(
    store: Store, world: WorldId, actor: str, work_order: str, reason: str,
    *, key: str | None = None,
) -> None:  # fmt: skip
    """Say no to what was submitted, and why; its author may revise it."""
    if not reason.strip():
        raise BadInput("a rejection has a reason", hint="give --reason")

    def act(change: Change) -> dict[str, Json]:
        order = board.work_order(change.tx, world, work_order)
        state = after(order.id, order.state, "reject")
        board.set_work_order_state(change.tx, world, work_order, state, None)
        return {"digest": order.digest}

    perform(store, world, Command("reject", actor, {"work_order": work_order}, reason, key), act)
