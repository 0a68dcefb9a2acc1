"""One result's facts as one batch, and the completion record that binds them (A03, A09, A10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.domain.digest import Json
from app.domain.errors import Refused
from app.domain.identity import EntityId
from app.domain.result import ResultRef
from app.domain.world import Fact, Relation, World
from app.kinds.reading import integers


class IncompleteBinding(Refused):
    """The completion record and the committed facts do not agree; it settles nothing."""

    code = "incomplete_binding"


class Batch:
    """Stages entities, facts and edges, remembers each, and completes with the marker."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._entities: list[EntityId] = []
        self._facts: list[Fact] = []
        self._relations: list[Relation] = []

    def spawn(self, component: str, value: Mapping[str, Json], version: int = 1) -> EntityId:
        """A new entity with its first component."""
        entity = self._world.spawn()
        self._entities.append(entity)
        self._facts.append(self._world.put(entity, component, version, value))
        return entity

    def relate(self, source: EntityId, name: str, target: EntityId) -> None:
        """An edge of the result."""
        self._relations.append(self._world.relate(source, name, target))

    def complete(self, entity: EntityId, marker: tuple[str, int], result: ResultRef) -> Fact:
        """Stage the marker last: it names every entity, fact digest and edge of this result."""
        component, version = marker
        value: dict[str, Json] = {
            "kind": result.key.kind,
            "activity": result.key.activity,
            "result": result.digest,
            "outcome": result.outcome,
            "entities": list(self._entities),
            "facts": sorted(_fact_row(fact) for fact in self._facts),
            "relations": sorted(_edge_row(edge) for edge in self._relations),
        }
        return self._world.put(entity, component, version, value)


def check_binding(
    marker: Fact, result: ResultRef, facts: Iterable[Fact], relations: Iterable[Relation]
) -> None:
    """Hold a marker against its result and the facts and edges of the same receipt.

    Raises IncompleteBinding when anything it names is missing or different. What processors added
    in the same tick is theirs and does not count.
    """
    named = marker.value
    if (named.get("kind"), named.get("activity")) != (result.key.kind, result.key.activity):
        raise IncompleteBinding("the marker names another activity")
    if named.get("result") != result.digest or named.get("outcome") != result.outcome:
        raise IncompleteBinding("the marker names another result")
    here = {tuple(_fact_row(fact)) for fact in facts}
    if missing := [row for row in _rows(named, "facts") if row not in here]:
        raise IncompleteBinding(f"facts are missing or different: {missing[:3]}")
    drawn = {tuple(_edge_row(edge)) for edge in relations}
    if missing := [row for row in _rows(named, "relations") if row not in drawn]:
        raise IncompleteBinding(f"edges are missing: {missing[:3]}")
    members = {row[0] for row in here}
    if not set(integers(named, "entities")) <= members:
        raise IncompleteBinding("entities are missing")


def _rows(value: Mapping[str, Json], name: str) -> list[tuple[Json, ...]]:
    found = value.get(name)
    if not isinstance(found, list) or not found or not all(isinstance(row, list) for row in found):
        raise IncompleteBinding(f"the marker names no {name}")
    return [tuple(row) for row in found]


def _fact_row(fact: Fact) -> list[Json]:
    return [fact.entity, fact.component, fact.version, fact.digest]


def _edge_row(edge: Relation) -> list[Json]:
    return [edge.source, edge.name, edge.target]
