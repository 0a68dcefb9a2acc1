"""Approving a work order."""

from __future__ import annotations

from app.domain.digest import Digest, Json
from app.domain.errors import DigestConflict, SecondPersonNeeded
from app.domain.identity import WorldId
from app.domain.lifecycle import after
from app.store import board, work_orders
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform


def approve(
    store: Store, world: WorldId, actor: str, work_order: str, seen: Digest | None = None,
    *, reason: str | None = None, key: str | None = None,
) -> Digest:  # fmt: skip
    """Allow exactly what the work order says now, and return its digest; nothing starts (O01).

    `seen`: the digest that was looked at; a work order that was revised since is DigestConflict.
    Where it asks for a second person, its author's approval is SecondPersonNeeded (S05).
    """

    def act(change: Change) -> dict[str, Json]:
        order = board.work_order(change.tx, world, work_order)
        state = after(order.id, order.state, "approve")
        if seen not in (None, order.digest):
            raise DigestConflict(
                f"work order {order.id} was revised: it is {order.digest[:12]} now",
                hint=f"look again: `fencepost work-orders show {order.id}`",
            )
        if order.second_person and order.author == actor:
            raise SecondPersonNeeded(f"{actor} is the author of work order {order.id}")
        work_orders.approve(change.tx, world, work_order, state, order.digest, actor)
        return {"digest": order.digest}

    request: dict[str, Json] = {"work_order": work_order, "seen": seen}
    answer = perform(store, world, Command("approve", actor, request, reason, key), act)
    return Digest(str(answer["digest"]))
