"""Who a command acts as: the owner of FENCEPOST_HOME, or the principal of FENCEPOST_TOKEN."""

from __future__ import annotations

from app.config import Settings
from app.domain.authority import Principal, require
from app.domain.errors import NotFound, TokenRefused
from app.domain.identity import WorldId
from app.store import principals, worlds
from app.store.engine import Store
from app.transitions.change import LOCAL
from app.transitions.open_world import open_world

WORLD = "default"  #: never asked for


def acting(store: Store, settings: Settings) -> Principal:
    """The principal that this command acts as; a token that opens nothing is TokenRefused."""
    with store.begin() as tx:
        if settings.token is None:
            return principals.get(tx, LOCAL)
        found = principals.authenticate(tx, settings.token)
    if found is None:
        raise TokenRefused("FENCEPOST_TOKEN is no token of this installation, or was revoked")
    return found


def allowed(store: Store, settings: Settings, verb: str, world: str | None = None) -> str:
    """The id of the principal, who may do this there: ScopeMissing, WorldForbidden, TokenRefused.

    Without a world the verb is about the whole installation.
    """
    principal = acting(store, settings)
    require(principal, verb, None if world is None else WorldId(world))
    return principal.id


def default_world(store: Store, principal: Principal) -> WorldId:
    """The world called `default`, made by whoever may where it is missing."""
    try:
        with store.begin() as tx:
            return worlds.named(tx, WORLD)
    except NotFound:
        require(principal, "open_world")
        return open_world(store, WORLD)
