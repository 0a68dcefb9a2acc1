"""Worlds, their receipts, and what each receipt made visible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Row, insert, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.digest import Digest, Json, canonical, digest, parse
from app.domain.errors import NotFound
from app.domain.identity import EntityId, WorldId
from app.domain.world import Fact, Mutations
from app.store.engine import Tx
from app.store.schema import entities, facts, receipts, relations, worlds


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
    row = tx.execute(
        select(worlds).where(worlds.c.world_id == world).with_for_update()
    ).one_or_none()
    if row is None:
        raise NotFound(f"no world {world}")
    settings = cast("Mapping[str, Json]", parse(row.settings))
    return WorldRow(
        WorldId(row.world_id), row.name, row.tick, row.entity_sequence, row.receipt_digest, settings
    )


def settings(tx: Tx, world: WorldId) -> Mapping[str, Json]:
    """What a world's owner has declared, for readers."""
    found = tx.execute(select(worlds.c.settings).where(worlds.c.world_id == world)).scalar_one()
    return cast("Mapping[str, Json]", parse(found))


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
    tx.execute(
        insert(receipts).values(
            world_id=row.world, tick=tick, verb=verb, actor=actor, bytes=receipt, digest=own,
            previous=row.last,
        )
    )  # fmt: skip
    place = {"world_id": row.world, "tick": tick}
    if added.entities:
        tx.execute(insert(entities), [{**place, "entity_id": e} for e in added.entities])
    if added.facts:
        tx.execute(insert(facts), [{**place, **_fact_columns(fact)} for fact in added.facts])
    if added.relations:
        edges = [
            {**place, "source": r.source, "relation": r.name, "target": r.target}
            for r in added.relations
        ]
        tx.execute(insert(relations), edges)
    tx.execute(
        update(worlds).where(worlds.c.world_id == row.world)
        .values(tick=tick, entity_sequence=sequence, receipt_digest=own)
    )  # fmt: skip
    return Receipt(row.world, tick, verb, actor, receipt, own)


class StoredSnapshot:
    """What a world knew after the receipt of a tick."""

    def __init__(self, tx: Tx, world: WorldId, tick: int) -> None:
        self._tx, self._world, self._tick = tx, world, tick
        self._known: dict[EntityId, dict[str, Fact]] = {}

    def fact(self, entity: EntityId, component: str) -> Fact | None:
        """The newest value of a component, up to the tick."""
        if entity not in self._known:
            rows = self._tx.execute(
                select(facts).ext(distinct_on(facts.c.component))
                .where(facts.c.world_id == self._world, facts.c.entity_id == entity)
                .where(facts.c.tick <= self._tick)
                .order_by(facts.c.component, facts.c.tick.desc())
            )  # fmt: skip
            self._known[entity] = {row.component: fact_from(row) for row in rows}
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
    value = cast("Mapping[str, Json]", parse(row.value))
    return Fact(EntityId(row.entity_id), row.component, row.version, value)


def _fact_columns(fact: Fact) -> dict[str, object]:
    return {
        "entity_id": fact.entity, "component": fact.component, "version": fact.version,
        "value": fact.bytes, "digest": fact.digest,
    }  # fmt: skip
