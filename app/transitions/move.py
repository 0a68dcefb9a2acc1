"""Moving a task's card."""

from __future__ import annotations

from app.domain.board import Column
from app.domain.card import check_move
from app.domain.digest import Json
from app.domain.errors import ActiveAttempt
from app.domain.identity import WorldId
from app.domain.transition import Hand
from app.store import attempts, board
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform


def move(
    store: Store, world: WorldId, actor: str, task: str, to: Column, reason: str,
    *, key: str | None = None,
) -> None:  # fmt: skip
    """Hang a card in another column, with who, why, from and to in the receipt (T07).

    A move that is not in the table is IllegalMove. While an attempt is active the card goes where
    the attempt takes it: ActiveAttempt.
    """

    def act(change: Change) -> dict[str, Json]:
        card = board.task(change.tx, world, task)
        check_move(task, card.column, to, Hand.PERSON)
        latest = attempts.latest(change.tx, world, task)
        if latest is not None and latest.ended_at is None:
            raise ActiveAttempt(f"task {task} has an active attempt, {latest.attempt_id}")
        board.move_task(change.tx, world, task, to)
        return {"from": card.column}

    perform(store, world, Command("move", actor, {"task": task, "to": to}, reason, key), act)
