"""What the database knows of provider operations, by the names that a remote shows."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ARRAY, ColumnElement, Table, Text, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB

from app.domain.identity import ActivityId, ActivityKey, Kind, OperationId, WorldId
from app.domain.pruning import Known
from app.domain.result import Outcome
from app.store import clock
from app.store.engine import Tx
from app.store.schema import activities, bindings, ends, results, settlements, unknowns


def operations_known(tx: Tx, named: Collection[OperationId]) -> dict[OperationId, Known]:
    """Each of these operations that an activity of this database is bound to."""
    request = cast(func.convert_from(activities.c.request, "UTF8"), JSONB)
    held = (
        select(unknowns.c.fence)
        .where(_same(unknowns), unknowns.c.decided_at.is_(None))
        .correlate(bindings)
        .exists()
    )
    # a table of their own, so that however many there are they are hashed and not searched
    asked = func.unnest(cast(literal(list(named)), ARRAY(Text))).table_valued("operation_id")
    asked = asked.render_derived()
    settled = _same(settlements) & (settlements.c.result_digest == results.c.digest)
    joined = (
        asked.join(bindings, bindings.c.operation_id == asked.c.operation_id)
        .join(activities, _same(activities))
        .outerjoin(results, _same(results))
        .outerjoin(ends, _same(ends))
        .outerjoin(settlements, settled)
    )
    rows = tx.execute(
        select(
            bindings.c.operation_id, bindings.c.world_id, bindings.c.kind, bindings.c.activity_id,
            activities.c.attempt_id, request["repository"]["id"].astext, results.c.digest,
            results.c.outcome, ends.c.ended_at, clock.now() - settlements.c.settled_at, held,
        )
        .select_from(joined)
    )  # fmt: skip
    return {
        OperationId(row[0]): Known(
            ActivityKey(WorldId(row[1]), Kind(row[2]), ActivityId(row[3])), row[4], row[5] or "",
            row[6], None if row[7] is None else Outcome(row[7]), row[8], row[9], row[10],
        )
        for row in rows
    }  # fmt: skip


def _same(table: Table) -> ColumnElement[bool]:
    """The rows of the bound activity."""
    return (
        (table.c.world_id == bindings.c.world_id)
        & (table.c.kind == bindings.c.kind)
        & (table.c.activity_id == bindings.c.activity_id)
    )
