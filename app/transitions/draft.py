"""Drafting a work order with the task that will carry it out."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.digest import Json, digest_of
from app.domain.identity import WorldId, mint
from app.domain.work_order import COMPONENT, Specification
from app.kinds.reading import string
from app.store import board, work_orders
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform


@dataclass(frozen=True, slots=True)
class Draft:
    """A new work order and its card in the inbox."""

    work_order: str
    task: str


def draft(
    store: Store, world: WorldId, actor: str, repository: str, specification: Specification,
    *, reason: str | None = None, key: str | None = None,
) -> Draft:  # fmt: skip
    """Write a work order down; nothing is approved and nothing runs."""
    value = specification.value()
    title = string(value, "title")

    def act(change: Change) -> dict[str, Json]:
        new, tick = Draft(mint("wo"), mint("t")), change.world.tick
        entity, its_task = change.world.spawn(), change.world.spawn()
        change.world.put(entity, COMPONENT, 1, value)
        change.world.put(its_task, "MissionTask", 1, {"task": new.task, "title": title})
        work_orders.add(change.tx, world, tick, new.work_order, repository, entity, value, actor)
        board.add_task(change.tx, world, tick, new.task, new.work_order, its_task, title)
        return {"work_order": new.work_order, "task": new.task}

    request: dict[str, Json] = {"repository": repository, "specification": digest_of(value)}
    answer = perform(store, world, Command("draft", actor, request, reason, key), act)
    return Draft(string(answer, "work_order"), string(answer, "task"))
