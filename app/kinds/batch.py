"""One result's facts as one batch, and the completion record that binds them (A03, A09, A10)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from app.domain.digest import Json
from app.domain.errors import Refused
from app.domain.identity import EntityId
from app.domain.result import ResultRef
from app.domain.world import Fact, Relation, World


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
    marker: Fact,
    result: ResultRef,
    facts: Iterable[Fact],
    relations: Iterable[Relation],
    dispatches: Collection[str],
) -> None:
    """Hold a marker against its result and the facts and edges of the same receipt.

    Raises IncompleteBinding unless it names all of them, as they are, and nothing else. What
    processors added in the same tick (`dispatches`) is theirs and does not count.
    """
    named, edges = marker.value, list(relations)
    if (named.get("kind"), named.get("activity")) != (result.key.kind, result.key.activity):
        raise IncompleteBinding("the marker names another activity")
    if named.get("result") != result.digest or named.get("outcome") != result.outcome:
        raise IncompleteBinding("the marker names another result")
    members = _connected(marker.entity, edges)
    own = [
        fact
        for fact in facts
        if fact.entity in members and fact.component not in (marker.component, *dispatches)
    ]
    complete: dict[str, Sequence[Json]] = {
        "entities": sorted(members),
        "facts": sorted(map(_fact_row, own)),
        "relations": sorted(_edge_row(edge) for edge in edges if edge.source in members),
    }
    for name, expected in complete.items():
        if not expected or named.get(name) != expected:
            raise IncompleteBinding(f"the marker does not name the {name} of its receipt")


def _connected(entity: EntityId, edges: list[Relation]) -> set[EntityId]:
    """The entities of one result: they alone are sources of the receipt's edges."""
    sources = {edge.source for edge in edges}
    found, todo = set(), [entity]
    while todo:
        here = todo.pop()
        found.add(here)
        near = {edge.source for edge in edges if edge.target == here}
        near |= {edge.target for edge in edges if edge.source == here} & sources
        todo += near - found
    return found


def _fact_row(fact: Fact) -> list[Json]:
    return [fact.entity, fact.component, fact.version, fact.digest]


def _edge_row(edge: Relation) -> list[Json]:
    return [edge.source, edge.name, edge.target]
