"""Drafting a work order with the task that will carry it out."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.digest import canonical
from app.domain.identity import WorldId, mint
from app.domain.work_order import Specification
from app.store import board
from app.store.engine import Store
from app.transitions.change import Command, changing


@dataclass(frozen=True, slots=True)
class Draft:
    """A new work order and its card in the inbox."""

    work_order: str
    task: str


def draft(
    store: Store, world: WorldId, actor: str, repository: str, specification: Specification
) -> Draft:
    """Write a work order down; nothing is approved and nothing runs."""
    new = Draft(mint("wo"), mint("t"))
    value = specification.value()
    title = str(value["title"])
    subject = {"work_order": new.work_order, "task": new.task, "repository": repository}
    with (
        store.begin() as tx,
        changing(tx, world, Command("draft", actor, subject)) as change,
    ):
        tick = change.world.tick
        board.add_work_order(tx, world, tick, new.work_order, repository, title, canonical(value))
        entity = change.world.spawn()
        change.world.put(entity, "MissionTask", 1, {"task": new.task, "title": title})
        board.add_task(tx, world, tick, new.task, new.work_order, entity, title)
    return new
