"""One result's facts as one batch, and the completion record that binds them (A03, A09, A10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from app.domain.digest import Digest, Json
from app.domain.errors import Refused
from app.domain.identity import EntityId
from app.domain.result import ResultRef
from app.domain.world import Fact, Relation, World

#: Of a fact: its entity, component, version and digest, as receipts and markers name it.
FactRow = tuple[EntityId, str, int, Digest]


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


class Committed:
    """What one receipt made visible, in which its completion records are checked."""

    def __init__(self, facts: Iterable[FactRow], relations: Iterable[Relation]) -> None:
        self._facts: dict[EntityId, list[FactRow]] = defaultdict(list)
        self._from: dict[EntityId, list[Relation]] = defaultdict(list)
        self._to: dict[EntityId, list[Relation]] = defaultdict(list)
        for fact in facts:
            self._facts[fact[0]].append(fact)
        for edge in relations:
            self._from[edge.source].append(edge)
            self._to[edge.target].append(edge)

    def check(self, marker: Fact, result: ResultRef, dispatches: Collection[str]) -> None:
        """Hold a marker against its result and the facts and edges beside it.

        Raises IncompleteBinding unless it names all of them, as they are, and nothing else. What
        processors added in the same tick (`dispatches`) is theirs and does not count.
        """
        named = marker.value
        if (named.get("kind"), named.get("activity")) != (result.key.kind, result.key.activity):
            raise IncompleteBinding("the marker names another activity")
        if named.get("result") != result.digest or named.get("outcome") != result.outcome:
            raise IncompleteBinding("the marker names another result")
        members = self._connected(marker.entity)
        others = (marker.component, *dispatches)
        own: list[list[Json]] = [
            list(fact) for one in members for fact in self._facts.get(one, ())
            if fact[1] not in others
        ]  # fmt: skip
        complete: dict[str, Sequence[Json]] = {
            "entities": sorted(members),
            "facts": sorted(own),
            "relations": sorted(_edge_row(e) for one in members for e in self._from.get(one, ())),
        }
        for name, expected in complete.items():
            if not expected or named.get(name) != expected:
                raise IncompleteBinding(f"the marker does not name the {name} of its receipt")

    def _connected(self, entity: EntityId) -> set[EntityId]:
        """The entities of one result: they alone are sources of the receipt's edges."""
        found: set[EntityId] = set()
        todo = [entity]
        while todo:
            here = todo.pop()
            found.add(here)
            near = {edge.source for edge in self._to.get(here, ())}
            near |= {edge.target for edge in self._from.get(here, ()) if edge.target in self._from}
            todo += near - found
        return found


def _fact_row(fact: Fact) -> list[Json]:
    return [fact.entity, fact.component, fact.version, fact.digest]


def _edge_row(edge: Relation) -> list[Json]:
    return [edge.source, edge.name, edge.target]
