"""Opening a world by its name."""

from __future__ import annotations

from app.domain.identity import WorldId, mint
from app.store import worlds
from app.store.engine import Store


def open_world(store: Store, name: str) -> WorldId:
    """The world of this name, made if it is missing; its id is random (PROTOCOL §2)."""
    with store.begin() as tx:
        worlds.create(tx, WorldId(mint("w")), name)
        return worlds.named(tx, name)
