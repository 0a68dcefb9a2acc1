"""Pausing an attempt, and letting it go on."""

from __future__ import annotations

from app.domain.digest import Json, text
from app.domain.errors import WrongState
from app.domain.event import EventType
from app.domain.identity import WorldId
from app.kinds.order import PAUSE_REQUEST, is_paused
from app.store import attempts, board
from app.store.engine import Store
from app.store.listening import wake
from app.transitions.advance import advance
from app.transitions.change import Change, Command
from app.transitions.perform import perform


def pause(
    store: Store, world: WorldId, actor: str, attempt: str, reason: str, *, key: str | None = None
) -> None:
    """Start no further step of an attempt; what runs goes on (O12).

    An attempt that has ended, or is paused already, is WrongState.
    """
    _set(store, world, attempt, Command("pause", actor, {"attempt": attempt}, reason, key), True)


def resume(
    store: Store, world: WorldId, actor: str, attempt: str, reason: str, *, key: str | None = None
) -> None:
    """Go on with a paused attempt; one that is not paused is WrongState."""
    _set(store, world, attempt, Command("resume", actor, {"attempt": attempt}, reason, key), False)


def _set(store: Store, world: WorldId, attempt_id: str, command: Command, paused: bool) -> None:
    def act(change: Change) -> dict[str, Json]:
        attempt = attempts.get(change.tx, world, attempt_id)
        if attempt.ended_at is not None:
            raise WrongState(f"attempt {attempt_id} has ended: {attempt.outcome}")
        task = board.task(change.tx, world, attempt.task_id).entity
        if is_paused(change.world, task, attempt_id) is paused:
            raise WrongState(f"attempt {attempt_id} is {'paused' if paused else 'not paused'}")
        change.world.put(task, PAUSE_REQUEST, 1, {"attempt": attempt_id, "paused": paused})
        kind = EventType.PAUSE if paused else EventType.RESUME
        change.tell(attempt_id, kind, actor=command.actor, reason=text(command.reason or ""))
        advance(change, attempt_id)
        wake(change.tx)
        return {}

    perform(store, world, command, act)
