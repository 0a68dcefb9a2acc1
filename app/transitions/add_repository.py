"""Making a repository known to a world."""

from __future__ import annotations

from app.domain.identity import WorldId, mint
from app.store import board, worlds
from app.store.board import Repository
from app.store.engine import Store
from app.transitions.change import Command, changing


def add_repository(store: Store, world: WorldId, actor: str, name: str, url: str) -> Repository:
    """The world's repository at this address, added if it is new."""
    with store.begin() as tx:
        worlds.lock(tx, world)  # lock first, look, then change
        if known := board.repository_at(tx, world, url):
            return known
        new = Repository(mint("r"), name, url, "local")
        command = Command("add_repository", actor, {"repository": new.id, "url": url})
        with changing(tx, world, command) as change:
            board.add_repository(tx, world, change.world.tick, new)
        return new
