"""Cancelling an attempt."""

from __future__ import annotations

from app.domain.digest import Json, text
from app.domain.errors import WrongState
from app.domain.event import EventType
from app.domain.identity import ActivityKey, EntityId, WorldId
from app.domain.recovery import Stop
from app.kinds.order import CANCEL_REQUEST
from app.store import activities, attempts, board
from app.store.deliveries import Cause
from app.store.engine import Store
from app.store.listening import wake
from app.transitions.advance import advance
from app.transitions.change import Change, Command
from app.transitions.deliver import deliver
from app.transitions.perform import perform
from app.transitions.withdraw import withdraw


def cancel(
    store: Store, world: WorldId, actor: str, attempt_id: str, reason: str,
    *, key: str | None = None,
) -> None:  # fmt: skip
    """Ask that nothing of the attempt starts any more; claims reconcile, close, and end it (Q08).

    A result that is recorded already is past cancel. An attempt that has ended is WrongState.
    """
    under_way: list[ActivityKey] = []

    def act(change: Change) -> dict[str, Json]:
        tx = change.tx
        attempt = attempts.get(tx, world, attempt_id)
        if attempt.ended_at is not None:
            raise WrongState(f"attempt {attempt_id} has ended: {attempt.outcome}")
        task: EntityId = board.task(tx, world, attempt.task_id).entity
        change.world.put(task, CANCEL_REQUEST, 1, {"attempt": attempt_id})
        change.tell(attempt_id, EventType.CANCELLATION, actor=actor, reason=text(reason))
        under_way.extend(activities.of_attempt(tx, world, attempt_id))
        for one in under_way:
            activities.lock(tx, one)
            activities.set_stop(tx, one, Stop.CANCEL)
        advance(change, attempt_id)  # where nothing runs, this is its end
        wake(tx)
        return {}

    perform(store, world, Command("cancel", actor, {"attempt": attempt_id}, reason, key), act)
    for one in under_way:
        if not withdraw(store, one):
            deliver(store, one, Cause.STOPPED)
