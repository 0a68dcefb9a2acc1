"""Completion markers: each binds all facts and edges of one result, and settles it (A03, A10)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from app.domain.digest import Json
from app.store import schema
from app.verify import shapes
from app.verify.admissions import cursor
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Found, Stream, Value, World, value_of

#: Kind → the one name and version of its marker; version 1 of the author's settles nothing.
MARKERS: Mapping[str, tuple[str, int]] = {
    "missions.author": ("CompleteAuthorActivityObservation", 2),
    "missions.command": ("CompleteCommandObservation", 1),
    "forge.pull_request": ("CompletePullRequestObservation", 1),
    "forge.checks": ("CompleteChecksObservation", 1),
}

_DIGEST = re.compile("[0-9a-f]{64}")


def check(world: World) -> Iterator[Finding]:
    """Recompute what every marker binds, and hold settlements against markers."""
    projected = cursor(world)
    for (tick,), found in world.together(
        Stream(schema.facts, ("tick",), ("value",)),
        Stream(schema.relations, ("tick",)),
        Stream(schema.entities, ("tick",)),
        Stream(schema.staged_batches, ("consumed_tick",),
               where=schema.staged_batches.c.consumed_tick.is_not(None)),
        Stream(schema.settlements, ("tick",)),
    ):  # fmt: skip
        values = {_place(fact): value_of(fact.value) or {} for fact in found["facts"]}
        markers = [fact for fact in found["facts"] if _is_marker(fact)]
        if not markers and not found["staged_batches"] and not found["settlements"]:
            continue
        for marker in markers:
            yield from _binds(world, marker, values, found)
        yield from _one_each(markers, values, found, is_projected=int(str(tick)) <= projected)


def _is_marker(fact: AnyRow) -> bool:
    name = str(fact.component)
    return name.startswith("Complete") and name.endswith("Observation")


def _place(fact: AnyRow) -> tuple[int, str]:
    return int(fact.entity_id), str(fact.component)


def _binds(
    world: World, marker: AnyRow, values: Mapping[tuple[int, str], Value], found: Found
) -> Iterator[Finding]:
    """It names every fact and edge of its entities, as they are, and no entity is left out."""
    value = values[_place(marker)]
    kind, entities = str(value.get("kind")), set(_integers(value.get("entities")))
    if kind in MARKERS and (marker.component, marker.version) != MARKERS[kind]:
        yield against("A10", schema.facts, marker, f"it is no marker of {kind}")
    own = [
        fact for fact in found["facts"]
        if fact.entity_id in entities and fact is not marker
        # what a processor dispatched in the same tick is its own, and no part of the result
        and not ("Dispatch" in fact.component and "dispatch_id" in values[_place(fact)])
    ]  # fmt: skip
    edges = [edge for edge in found["relations"] if edge.source in entities]
    complete: Mapping[str, list[list[Json]]] = {
        "facts": sorted([f.entity_id, f.component, f.version, f.digest] for f in own),
        "relations": sorted([e.source, e.relation, e.target] for e in edges),
    }
    for name, expected in complete.items():
        if value.get(name) != expected:
            yield against("L6", schema.facts, marker, f"it does not bind the {name} of its result")
    fresh = {entity.entity_id for entity in found["entities"]}
    if not entities or marker.entity_id not in entities or not entities <= fresh:
        yield against("L6", schema.facts, marker, "its entities are not new in its receipt")
    for edge in found["relations"]:
        if edge.target in entities and edge.source in fresh - entities:
            what = f"it leads into the result of {value.get('activity')}, which does not bind it"
            yield against("L6", schema.relations, edge, what)
    named = str(value.get("result"))
    payload = value_of(world.payload(named) or b"") if _DIGEST.fullmatch(named) else None
    facts = [(int(f.entity_id), str(f.component), values[_place(f)]) for f in own]
    triples = [(int(e.source), str(e.relation), int(e.target)) for e in edges]
    result = shapes.Result(int(marker.entity_id), str(value.get("outcome")), facts, triples)
    for what in shapes.faults(kind, result, payload or {}):
        yield against("A09", schema.facts, marker, what)


def _one_each(
    markers: list[AnyRow], values: Mapping[tuple[int, str], Value], found: Found,
    *, is_projected: bool,
) -> Iterator[Finding]:  # fmt: skip
    """A batch leaves one marker, and a marker settles its activity (A03, M11)."""
    bound = {
        (str(value.get("kind")), str(value.get("activity")), str(value.get("result"))): marker
        for marker in markers
        if (value := values[_place(marker)])
    }
    consumed = {(b.kind, b.activity_id, b.result_digest) for b in found["staged_batches"]}
    settled = {(s.kind, s.activity_id, s.result_digest): s for s in found["settlements"]}
    for name in sorted(consumed - set(bound)):
        what = f"a marker for {'/'.join(name[:2])}, whose batch its receipt consumed"
        yield missing("L6", schema.facts, *_world_and_tick(found), what=what)
    if len(bound) != len(markers):
        yield against("L6", schema.facts, markers[-1], "a second marker for one result")
    for name, marker in bound.items():
        if name not in consumed:
            yield against("L6", schema.facts, marker, "no batch of its result was consumed")
        if is_projected and name not in settled:
            place = (marker.world_id, *name[:2])
            what = f"receipt {marker.tick} binds its result, and was projected"
            yield missing("L9", schema.settlements, *place, what=what)
    for name, settlement in settled.items():
        if name not in bound or bound[name].digest != settlement.marker_digest:
            what = "its receipt holds no such marker of its result"
            yield against("L9", schema.settlements, settlement, what)


def _world_and_tick(found: Found) -> tuple[object, object]:
    batch = found["staged_batches"][0]
    return batch.world_id, batch.consumed_tick


def _integers(found: Json) -> list[int]:
    return [one for one in found if type(one) is int] if isinstance(found, list) else []
