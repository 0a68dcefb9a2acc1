"""Receipts as a projector reads them: in order, with what each made visible.

What is asked all the time is built once: building such a statement takes longer than its answer.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, BindParameter, Select, bindparam, func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.identity import EntityId, WorldId
from app.domain.world import Fact, Relation
from app.kinds.batch import FactRow
from app.store.engine import Tx
from app.store.schema import facts, projector_cursors, relations, worlds
from app.store.worlds import fact_from


@dataclass(slots=True)
class Listed:
    """Everything that one receipt made visible, by its digests."""

    facts: list[FactRow] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)


def behind(tx: Tx, projector: str, most: int = 100) -> list[tuple[WorldId, range]]:
    """Worlds with receipts that this projector has not read, and the next so many of them."""
    rows = tx.execute(_behind(), {"named": projector, "most": most})
    return [(WorldId(row[0]), range(row[1], row[2])) for row in rows]


def facts_of(
    tx: Tx, world: WorldId, ticks: range, components: Collection[str] = ()
) -> list[tuple[int, Fact]]:
    """The facts that these receipts made visible, each with its tick, in order.

    `components`: only these; none: all.
    """
    asked = {"world": world, "first": ticks.start, "last": ticks.stop - 1}
    query = _facts().where(facts.c.component.in_(components)) if components else _facts()
    return [(row.tick, fact_from(row)) for row in tx.execute(query, asked)]


def listed(tx: Tx, world: WorldId, ticks: Collection[int]) -> dict[int, Listed]:
    """What each of these receipts made visible."""
    found: dict[int, Listed] = defaultdict(Listed)
    own = (facts.c.tick, facts.c.entity_id, facts.c.component, facts.c.version, facts.c.digest)
    for row in tx.execute(select(*own).where(facts.c.world_id == world, facts.c.tick.in_(ticks))):
        found[row[0]].facts.append((EntityId(row[1]), row[2], row[3], row[4]))
    for row in tx.execute(
        select(relations).where(relations.c.world_id == world, relations.c.tick.in_(ticks))
    ):
        edge = Relation(EntityId(row.source), row.relation, EntityId(row.target))
        found[row.tick].relations.append(edge)
    return found


def advance(tx: Tx, world: WorldId, projector: str, tick: int) -> None:
    """Say that a receipt was projected; repeating it is harmless, going back impossible."""
    statement = upsert(projector_cursors).values(world_id=world, projector=projector, tick=tick)
    tx.execute(
        statement.on_conflict_do_update(
            index_elements=["world_id", "projector"],
            set_={"tick": func.greatest(projector_cursors.c.tick, statement.excluded.tick)},
        )
    )


@functools.cache
def _behind() -> Select[Any]:
    cursor = func.coalesce(projector_cursors.c.tick, 0)
    most: BindParameter[Any] = bindparam("most", type_=BigInteger)
    return (
        select(worlds.c.world_id, cursor + 1, func.least(worlds.c.tick, cursor + most) + 1)
        .outerjoin(
            projector_cursors,
            (projector_cursors.c.world_id == worlds.c.world_id)
            & (projector_cursors.c.projector == bindparam("named")),
        )
        .where(worlds.c.tick > cursor)
    )


@functools.cache
def _facts() -> Select[Any]:
    return (
        select(facts).where(facts.c.world_id == bindparam("world"))
        .where(facts.c.tick.between(bindparam("first"), bindparam("last")))
        .order_by(facts.c.tick, facts.c.entity_id, facts.c.component)
    )  # fmt: skip
