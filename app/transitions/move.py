"""Moving a task's card."""

from __future__ import annotations

from app.domain.board import Column
from app.domain.digest import Json
from app.domain.identity import WorldId
from app.store import board
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform


def move(
    store: Store, world: WorldId, actor: str, task: str, to: Column, reason: str,
    *, key: str | None = None,
) -> None:  # fmt: skip
    """Hang a card in another column, with who, why, from and to in the receipt (T07)."""

    def act(change: Change) -> dict[str, Json]:
        before = board.task(change.tx, world, task)
        board.move_task(change.tx, world, task, to)
        return {"from": before.column}

    perform(store, world, Command("move", actor, {"task": task, "to": to}, reason, key), act)
