"""Declaring a world's settings."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.bounds import limits_of
from app.domain.card import like_ready
from app.domain.digest import Json
from app.domain.errors import BadInput
from app.domain.identity import WorldId
from app.store import worlds
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform

KNOWN = ("like_ready", "concurrency", "repository_concurrency")


def set_world(
    store: Store, world: WorldId, actor: str, settings: Mapping[str, Json], reason: str,
    *, key: str | None = None,
) -> None:  # fmt: skip
    """Change the settings that are named and keep the others; one that is not known is BadInput.

    `like_ready`: columns from which tasks may be dispatched as from Ready (T02). `concurrency`,
    `repository_concurrency`: how many attempts may be at work at once in the world, and in each of
    its repositories (O08); null lifts the limit. What waits for a place goes on at once.
    """
    if unknown := sorted(set(settings) - set(KNOWN)):
        raise BadInput(f"no such setting: {', '.join(unknown)}", hint=f"known: {', '.join(KNOWN)}")
    like_ready(settings)
    limits_of(settings)

    def act(change: Change) -> dict[str, Json]:
        before = change.settings
        change.settings = {**before, **settings}
        worlds.set_settings(change.tx, world, change.settings)
        return {"before": before}

    command = Command("set_world", actor, {"settings": settings}, reason, key)
    perform(store, world, command, act)
