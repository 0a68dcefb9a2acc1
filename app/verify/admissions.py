"""Activities are what receipts dispatched, word for word, and none is forgotten (A01, A02, L10)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from app.domain.digest import canonical
from app.store import schema
from app.verify.finding import AnyRow, Finding, against, missing, path
from app.verify.reading import Found, Stream, World, value_of

PROJECTOR = "activities"
IS_DISPATCH = schema.facts.c.component.endswith("Dispatch")


def check(world: World) -> Iterator[Finding]:
    """Hold every activity against the dispatch in its receipt, and the other way round."""
    projected = cursor(world)
    if projected > world.row.tick:
        yield missing("L10", schema.receipts, world.id, projected, what="it was projected")
    for (tick,), found in world.together(
        Stream(schema.activities, ("tick",), large=("request",)),
        Stream(schema.facts, ("tick",), ("value",), IS_DISPATCH),
    ):
        yield from _admitted(world, found)
        if found["activities"] and tick > projected:  # type: ignore[operator]  # an integer
            what = f"activities were admitted from receipt {tick}, and it says {projected}"
            yield missing("L10", schema.projector_cursors, world.id, PROJECTOR, what=what)
        if tick <= projected:  # type: ignore[operator]
            yield from _forgotten(world, found)
    yield from _sequences(world)


def cursor(world: World) -> int:
    """The newest receipt that was projected."""
    rows = world.rows(schema.projector_cursors)
    return max((int(row.tick) for row in rows if row.projector == PROJECTOR), default=0)


def _admitted(world: World, found: Found) -> Iterator[Finding]:
    for activity in found["activities"]:
        request = value_of(activity.request) or {}
        expected = [
            canonical({"v": 1, "kind": activity.kind, "entity": fact.entity_id, **value})
            for fact in found["facts"]
            if (value := value_of(fact.value)) and value.get("dispatch_id") == activity.activity_id
        ]
        if bytes(activity.request) not in expected:
            what = f"its request is no dispatch of receipt {activity.tick}"
            yield against("A02", schema.activities, activity, what)
        if request.get("attempt") != activity.attempt_id:
            yield against("A02", schema.activities, activity, "its attempt is not the request's")


def _forgotten(world: World, found: Found) -> Iterator[Finding]:
    admitted = {activity.activity_id for activity in found["activities"]}
    for fact in found["facts"]:
        name = (value_of(fact.value) or {}).get("dispatch_id")
        if name not in admitted:
            what = f"receipt {fact.tick} dispatched {path(fact.component, str(name))}"
            yield missing("L10", schema.activities, world.id, str(name), what=what)


def _sequences(world: World) -> Iterator[Finding]:
    """An entity's dispatches are counted from one, and named by their count (A01)."""
    by = ("entity_id", "component")
    for _, found in world.together(Stream(schema.facts, by, ("value",), IS_DISPATCH)):
        for number, fact in enumerate(sorted(found["facts"], key=_tick), 1):
            value = value_of(fact.value) or {}
            name = hashlib.sha256(f"{fact.entity_id}:{number}".encode()).hexdigest()
            if (value.get("sequence"), value.get("dispatch_id")) != (number, name):
                what = f"it is dispatch {number} of its entity, and is not named so"
                yield against("A01", schema.facts, fact, what)


def _tick(row: AnyRow) -> int:
    return int(row.tick)
