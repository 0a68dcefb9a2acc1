"""What an attempt is about: components of its task that every step reads."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.digest import Json
from app.domain.errors import UnfitInput
from app.domain.identity import EntityId
from app.domain.world import World
from app.kinds.reading import string

#: What the attempt was dispatched for; the requests of its steps are made from it.
ORDER = "AttemptOrder"
#: A cancel of the attempt.
CANCEL_REQUEST = "CancelRequest"
#: A pause of the attempt, or its end.
PAUSE_REQUEST = "PauseRequest"


def order_of(world: World, task: EntityId, attempt: str) -> Mapping[str, Json]:
    """The order of a task's newest attempt, which is the one that is asked about."""
    fact = world.fact(task, ORDER)
    if fact is None or string(fact.value, "attempt") != attempt:
        raise UnfitInput(f"attempt {attempt} has no order")
    return fact.value


def is_canceled(world: World, task: EntityId, attempt: str) -> bool:
    """Whether a cancel of this attempt was asked for."""
    fact = world.fact(task, CANCEL_REQUEST)
    return fact is not None and fact.value.get("attempt") == attempt


def is_paused(world: World, task: EntityId, attempt: str) -> bool:
    """Whether this attempt is paused."""
    fact = world.fact(task, PAUSE_REQUEST)
    return fact is not None and fact.value == {"attempt": attempt, "paused": True}
