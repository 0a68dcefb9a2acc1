"""Adding a child to a task."""

from __future__ import annotations

from app.domain.digest import Json, text
from app.domain.errors import BadInput, CanonicalChildExists
from app.domain.identity import WorldId, mint
from app.kinds.reading import string
from app.store import board
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.perform import perform

LONGEST_TITLE = 200


def add_child(
    store: Store, world: WorldId, actor: str, parent: str, title: str | None = None,
    reason: str | None = None, *, canonical: bool = False, key: str | None = None,
) -> str:  # fmt: skip
    """A new card in the inbox, of the parent's work order; its id is returned.

    Without a title it has its parent's. Once a child is canonical its parent is not dispatched any
    more, only the child is (T01); a second one is CanonicalChildExists.
    """
    wanted = None if title is None else " ".join(text(title).split())
    if wanted is not None and not 0 < len(wanted) <= LONGEST_TITLE:
        raise BadInput(f"a title has 1 to {LONGEST_TITLE} characters")

    def act(change: Change) -> dict[str, Json]:
        tx, tick = change.tx, change.world.tick
        above = board.task(tx, world, parent)
        if canonical and (known := board.canonical_child(tx, world, parent)):
            raise CanonicalChildExists(f"task {parent} has a canonical child, {known}")
        child, name = mint("t"), wanted or above.title
        entity = change.world.spawn()
        change.world.put(entity, "MissionTask", 1, {"task": child, "title": name})
        change.world.relate(entity, "CanonicalChildOf" if canonical else "ChildOf", above.entity)
        board.add_task(
            tx, world, tick, child, above.work_order, entity, name,
            parent=parent, canonical=canonical,
        )  # fmt: skip
        return {"task": child, "work_order": above.work_order}

    request: dict[str, Json] = {"parent": parent, "title": wanted, "canonical": canonical}
    answer = perform(store, world, Command("add_child", actor, request, reason, key), act)
    return string(answer, "task")
