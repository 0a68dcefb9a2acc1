"""Drafting a work order with the task that will carry it out."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.digest import Json, canonical, digest_of
from app.domain.identity import WorldId, mint
from app.domain.work_order import Specification
from app.kinds.reading import string
from app.store import board
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
    *, key: str | None = None,
) -> Draft:  # fmt: skip
    """Write a work order down; nothing is approved and nothing runs."""
    value = specification.value()
    title = string(value, "title")

    def act(change: Change) -> dict[str, Json]:
        new, tick = Draft(mint("wo"), mint("t")), change.world.tick
        board.add_work_order(
            change.tx, world, tick, new.work_order, repository, title, canonical(value)
        )
        entity = change.world.spawn()
        change.world.put(entity, "MissionTask", 1, {"task": new.task, "title": title})
        board.add_task(change.tx, world, tick, new.task, new.work_order, entity, title)
        return {"work_order": new.work_order, "task": new.task}

    request: dict[str, Json] = {"repository": repository, "specification": digest_of(value)}
    answer = perform(store, world, Command("draft", actor, request, key=key), act)
    return Draft(string(answer, "work_order"), string(answer, "task"))
