"""A world in memory: a snapshot, and the mutations of the tick that is under way.

Nothing here is visible to anybody until the tick commits. A batch is staged whole or not at all:
when it is cancelled or a hook fails, the entity sequence and every mutation are restored before the
error leaves (A11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from app.domain.digest import Digest, Json, canonical, digest
from app.domain.identity import EntityId, WorldId


@dataclass(frozen=True, slots=True)
class Fact:
    """One component of one entity, as of one tick."""

    entity: EntityId
    component: str
    version: int
    value: Mapping[str, Json]

    @property
    def bytes(self) -> bytes:
        """The value's canonical bytes."""
        return canonical(self.value)

    @property
    def digest(self) -> Digest:
        """The digest of the value's canonical bytes."""
        return digest(self.bytes)


@dataclass(frozen=True, slots=True)
class Relation:
    """One edge between two entities."""

    source: EntityId
    name: str
    target: EntityId


class Snapshot(Protocol):
    """What a world knew after some receipt."""

    def fact(self, entity: EntityId, component: str) -> Fact | None:
        """The newest value of a component."""

    def targets(self, source: EntityId, relation: str) -> list[EntityId]:
        """Where the edges of this name lead, oldest first."""

    def sources(self, target: EntityId, relation: str) -> list[EntityId]:
        """Where the edges of this name come from, oldest first."""


OnSpawn = Callable[[EntityId], None]  #: advisory: owns no correctness


@dataclass(slots=True)
class Mutations:
    """What a tick adds; appended to, never edited."""

    entities: list[EntityId] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)


class World:
    """The mutation cache of one tick over the snapshot before it."""

    def __init__(self, world: WorldId, tick: int, sequence: int, before: Snapshot) -> None:
        self.id = world
        self.tick = tick  #: the tick that is being made
        self.sequence = sequence  #: the highest entity id so far
        self.added = Mutations()
        self.on_spawn: list[OnSpawn] = []
        self._before = before

    def spawn(self) -> EntityId:
        """A new entity; the hooks are told."""
        self.sequence += 1
        entity = EntityId(self.sequence)
        self.added.entities.append(entity)
        for hook in self.on_spawn:
            hook(entity)
        return entity

    def put(
        self, entity: EntityId, component: str, version: int, value: Mapping[str, Json]
    ) -> Fact:
        """Give an entity a component; one value a tick."""
        fact = Fact(entity, component, version, value)
        assert not any((f.entity, f.component) == (entity, component) for f in self.added.facts)
        self.added.facts.append(fact)
        return fact

    def relate(self, source: EntityId, name: str, target: EntityId) -> Relation:
        """Draw an edge."""
        relation = Relation(source, name, target)
        self.added.relations.append(relation)
        return relation

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """What is staged inside stays only if the inside ends well (A11)."""
        sequence, added = self.sequence, self.added
        marks = (len(added.entities), len(added.facts), len(added.relations))
        try:
            yield
        except BaseException:
            self.sequence = sequence
            del added.entities[marks[0] :], added.facts[marks[1] :], added.relations[marks[2] :]
            raise

    def fact(self, entity: EntityId, component: str) -> Fact | None:
        """The newest value, this tick's included."""
        for fact in reversed(self.added.facts):
            if (fact.entity, fact.component) == (entity, component):
                return fact
        return self._before.fact(entity, component)

    def targets(self, source: EntityId, relation: str) -> list[EntityId]:
        """Where the edges lead, this tick's last."""
        new = [r.target for r in self.added.relations if (r.source, r.name) == (source, relation)]
        return self._before.targets(source, relation) + new

    def sources(self, target: EntityId, relation: str) -> list[EntityId]:
        """Where the edges come from, this tick's last."""
        new = [r.source for r in self.added.relations if (r.target, r.name) == (target, relation)]
        return self._before.sources(target, relation) + new
