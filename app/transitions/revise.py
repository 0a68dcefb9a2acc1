"""Revising a work order."""

from __future__ import annotations

from app.domain.digest import Digest, Json, digest_of
from app.domain.identity import WorldId
from app.domain.lifecycle import after
from app.domain.work_order import COMPONENT, Specification
from app.store import board, work_orders
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform
from app.transitions.resting import require_rest


def revise(
    store: Store, world: WorldId, actor: str, work_order: str, specification: Specification,
    *, reason: str | None = None, key: str | None = None,
) -> Digest:  # fmt: skip
    """Let a work order say something else, and return its new digest; it is a draft again.

    An earlier approval is gone with what it was for. What it said before stays in the receipts'
    facts. While an attempt is under way it is refused: ActiveAttempt.
    """
    value = specification.value()
    digest = digest_of(value)

    def act(change: Change) -> dict[str, Json]:
        order = board.work_order(change.tx, world, work_order)
        state = after(order.id, order.state, "revise")
        require_rest(change.tx, world, order.id)
        change.world.put(order.entity, COMPONENT, 1, value)
        work_orders.revise(change.tx, world, work_order, state, value, actor)
        return {"digest": digest, "replaces": order.digest}

    request: dict[str, Json] = {"work_order": work_order, "specification": digest}
    perform(store, world, Command("revise", actor, request, reason, key), act)
    return digest
