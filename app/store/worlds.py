"""Worlds, their receipts, and what each receipt made visible."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, bindparam, select, text, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.digest import Digest, Json, canonical, digest, stored
from app.domain.errors import NotFound
from app.domain.identity import EntityId, WorldId
from app.domain.world import Fact, Mutations
from app.store.engine import Tx
from app.store.schema import facts, relations, worlds


@dataclass(frozen=True, slots=True)
class WorldRow:
    """A world as its row says."""

    world: WorldId
    name: str
    tick: int
    sequence: int
    last: Digest | None  #: digest of the newest receipt
    settings: Mapping[str, Json]  #: what its owner has declared


@dataclass(frozen=True, slots=True)
class Receipt:
    """The numbered, immutable record of a committed tick."""

    world: WorldId
    tick: int
    verb: str
    actor: str
    bytes: bytes
    digest: Digest


def create(tx: Tx, world: WorldId, name: str) -> None:
    """Insert a world unless one of this name exists."""
    tx.execute(
        upsert(worlds).values(world_id=world, name=name, tick=0, entity_sequence=0)
        .on_conflict_do_nothing(index_elements=["name"])
    )  # fmt: skip


def named(tx: Tx, name: str) -> WorldId:
    """The id of a world by its name; NotFound."""
    found = tx.execute(select(worlds.c.world_id).where(worlds.c.name == name)).scalar()
    if found is None:
        raise NotFound(f"no world is called {name}", hint="`fencepost run` makes the default world")
    return WorldId(found)


def lock(tx: Tx, world: WorldId) -> WorldRow:
    """The world's row, held until the transaction ends: one tick at a time."""
    row = tx.execute(_locked(), {"world": world}).one_or_none()
    if row is None:
        raise NotFound(f"no world {world}")
    settings = stored(row.settings)
    return WorldRow(
        WorldId(row.world_id), row.name, row.tick, row.entity_sequence, row.receipt_digest, settings
    )


def settings(tx: Tx, world: WorldId) -> Mapping[str, Json]:
    """What a world's owner has declared, for readers."""
    found = tx.execute(select(worlds.c.settings).where(worlds.c.world_id == world)).scalar_one()
    return stored(found)


def set_settings(tx: Tx, world: WorldId, settings: Mapping[str, Json]) -> None:
    """Replace what a world's owner has declared."""
    tx.execute(
        update(worlds).where(worlds.c.world_id == world).values(settings=canonical(settings))
    )


def commit_tick(
    tx: Tx, row: WorldRow, verb: str, actor: str, receipt: bytes, sequence: int, added: Mutations
) -> Receipt:
    """Write a tick's receipt and everything that it makes visible."""
    tick, own = row.tick + 1, digest(receipt)
    facts_added, edges = added.facts, added.relations
    tx.execute(
        _COMMIT,
        {
            "world": row.world, "tick": tick, "verb": verb, "actor": actor, "bytes": receipt,
            "own": bytes.fromhex(own), "previous": bytes.fromhex(row.last) if row.last else None,
            "sequence": sequence, "entities": added.entities,
            "of": [one.entity for one in facts_added],
            "components": [one.component for one in facts_added],
            "versions": [one.version for one in facts_added],
            "values": [one.bytes for one in facts_added],
            "digests": [bytes.fromhex(one.digest) for one in facts_added],
            "sources": [one.source for one in edges], "names": [one.name for one in edges],
            "targets": [one.target for one in edges],
        },
    )  # fmt: skip
    return Receipt(row.world, tick, verb, actor, receipt, own)


#: A tick in one statement: five would each wait for their answer under the world's lock.
_COMMIT = text("""
with said as (
  insert into fencepost.receipts (world_id, tick, verb, actor, bytes, digest, previous)
  values (:world, :tick, :verb, :actor, :bytes, :own, :previous)
), spawned as (
  insert into fencepost.entities (world_id, entity_id, tick)
  select :world, one, :tick from unnest(cast(:entities as bigint[])) as one
), known as (
  insert into fencepost.facts (world_id, entity_id, component, version, tick, value, digest)
  select :world, entity, component, version, :tick, value, digest
    from unnest(cast(:of as bigint[]), cast(:components as text[]), cast(:versions as integer[]),
                cast(:values as bytea[]), cast(:digests as bytea[]))
      as new (entity, component, version, value, digest)
), related as (
  insert into fencepost.relations (world_id, source, relation, target, tick)
  select :world, source, name, target, :tick
    from unnest(cast(:sources as bigint[]), cast(:names as text[]), cast(:targets as bigint[]))
      as new (source, name, target)
)
update fencepost.worlds set tick = :tick, entity_sequence = :sequence, receipt_digest = :own
 where world_id = :world
""")


class StoredSnapshot:
    """What a world knew after the receipt of a tick."""

    def __init__(self, tx: Tx, world: WorldId, tick: int) -> None:
        self._tx, self._world, self._tick = tx, world, tick
        self._known: dict[EntityId, dict[str, Fact]] = {}

    def read(self, wanted: Iterable[EntityId]) -> None:
        """Read the components of these entities together, as far as they are not here yet."""
        missing = [one for one in dict.fromkeys(wanted) if one not in self._known]
        if not missing:
            return
        self._known |= {one: {} for one in missing}
        asked = {"world": self._world, "tick": self._tick, "those": missing}
        for row in self._tx.execute(_newest(), asked):
            self._known[EntityId(row.entity_id)][row.component] = fact_from(row)

    def fact(self, entity: EntityId, component: str) -> Fact | None:
        """The newest value of a component, up to the tick."""
        self.read([entity])
        return self._known[entity].get(component)

    def targets(self, source: EntityId, relation: str) -> list[EntityId]:
        """Where the edges lead, oldest first."""
        return self._edges(relations.c.source == source, relation, "target")

    def sources(self, target: EntityId, relation: str) -> list[EntityId]:
        """Where the edges come from, oldest first."""
        return self._edges(relations.c.target == target, relation, "source")

    def _edges(self, end: object, relation: str, wanted: str) -> list[EntityId]:
        column = relations.c[wanted]
        found = self._tx.execute(
            select(column)
            .where(relations.c.world_id == self._world, relations.c.relation == relation)
            .where(end, relations.c.tick <= self._tick)  # type: ignore[arg-type]  # a clause
            .order_by(relations.c.tick, column)
        ).scalars()
        return [EntityId(entity) for entity in found]


def fact_from(row: Row[tuple[object, ...]]) -> Fact:
    """A stored fact as a value."""
    value = stored(row.value)
    return Fact(EntityId(row.entity_id), row.component, row.version, value)


@functools.cache
def _newest() -> Select[Any]:
    return (
        select(facts).ext(distinct_on(facts.c.entity_id, facts.c.component))
        .where(facts.c.world_id == bindparam("world"))
        .where(facts.c.entity_id.in_(bindparam("those", expanding=True)))
        .where(facts.c.tick <= bindparam("tick"))
        .order_by(facts.c.entity_id, facts.c.component, facts.c.tick.desc())
    )  # fmt: skip


@functools.cache
def _locked() -> Select[Any]:
    return select(worlds).where(worlds.c.world_id == bindparam("world")).with_for_update()
