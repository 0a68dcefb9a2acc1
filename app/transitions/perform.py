"""Carrying out a command on a world, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.domain.digest import Json, digest_of, text
from app.domain.errors import IdempotencyConflict, UnfitInput
from app.domain.identity import WorldId
from app.store import idempotency, worlds
from app.store.engine import Store
from app.transitions.change import Change, Command, changing
from app.transitions.waiting import go_on

Act = Callable[[Change], Mapping[str, Json]]

LONGEST_KEY = 200


def perform(store: Store, world: WorldId, command: Command, act: Act) -> Mapping[str, Json]:
    """One tick in which `act` changes the world; its answer is returned and kept in the receipt.

    With a key, the same request again returns the first answer and adds nothing; another request
    under that key is an IdempotencyConflict (T06). Whatever `act` refuses changes nothing.
    """
    asked = digest_of(
        {
            "verb": command.verb, "actor": command.actor, "request": command.request,
            "reason": text(command.reason) if command.reason is not None else None,
        }
    )  # fmt: skip
    if command.key is not None and not 0 < len(command.key) <= LONGEST_KEY:
        raise UnfitInput(f"an idempotency key has 1 to {LONGEST_KEY} characters")
    with store.begin() as tx:
        row = worlds.lock(tx, world)  # lock first, look, then change
        if command.key is not None and (known := idempotency.find(tx, world, command.key)):
            if known.request != asked:
                raise IdempotencyConflict(f"the key {command.key} was used for another request")
            return known.answer
        with changing(tx, world, command, row) as change:
            change.answer = act(change)
            go_on(change)
            tick = change.world.tick
        if command.key is not None:
            idempotency.keep(tx, world, command.key, asked, change.answer, tick)
    return change.answer
