"""Moving a task's card."""

from __future__ import annotations

from app.domain.board import Column
from app.domain.identity import WorldId
from app.store import board
from app.store.engine import Store
from app.transitions.change import Command, changing


def move(store: Store, world: WorldId, actor: str, task: str, to: Column, reason: str) -> None:
    """Hang a card in another column, with who and why in the receipt (T07)."""
    with store.begin() as tx:
        before = board.task(tx, world, task)
        subject = {"task": task, "from": before.column, "to": to}
        with changing(tx, world, Command("move", actor, subject, reason)):
            board.move_task(tx, world, task, to)
