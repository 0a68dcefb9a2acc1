"""Making a repository known to a world."""

from __future__ import annotations

from app.domain.errors import Refused
from app.domain.identity import WorldId, mint
from app.domain.pull_request import LOCAL_FORGE
from app.store import board, worlds
from app.store.board import Repository
from app.store.engine import Store
from app.transitions.change import Command, changing


class ForgeDiffers(Refused):
    """The world knows the address, and its requests live at another forge; that never changes."""

    code = "forge_differs"
    hint = (
        "with a credential of GitHub the address is GitHub's, without one the local forge's: set "
        "or unset it as before, or use another world"
    )


def add_repository(
    store: Store, world: WorldId, actor: str, name: str, url: str, forge: str = LOCAL_FORGE
) -> Repository:
    """The world's repository at this address, added if it is new; ForgeDiffers."""
    with store.begin() as tx:
        worlds.lock(tx, world)  # lock first, look, then change
        if known := board.repository_at(tx, world, url):
            if known.forge != forge:
                raise ForgeDiffers(f"{url} is known as a repository of the forge {known.forge}")
            return known
        new = Repository(mint("r"), name, url, forge)
        command = Command("add_repository", actor, {"repository": new.id, "url": url})
        with changing(tx, world, command) as change:
            board.add_repository(tx, world, change.world.tick, new)
        return new
