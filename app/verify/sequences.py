"""The journal of each attempt: one sequence over two tables, and the row that counts it (O04)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Table

from app.store import schema
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Found, Stream, World

ATTEMPT = ("attempt_id",)
TOLD = (schema.events, schema.attempt_events)


def check(world: World) -> Iterator[Finding]:
    """Count every attempt's events and bytes again, and hold them against its counters."""
    activities = {
        (row.kind, row.activity_id): row.attempt_id for row in world.rows(schema.activities)
    }
    for (attempt,), found in world.together(
        Stream(schema.attempts, ATTEMPT),
        Stream(schema.attempt_counters, ATTEMPT),
        Stream(schema.events, ATTEMPT),
        Stream(schema.attempt_events, ATTEMPT),
        Stream(schema.artifacts, ATTEMPT, large=("bytes",)),
    ):
        yield from _sequence(found)
        yield from _counters(world, str(attempt), found)
        for table in (schema.events, schema.artifacts):
            for row in found[table.name]:
                if activities.get((row.kind, row.activity_id)) != attempt:
                    yield against("O04", table, row, "its attempt is not that of its activity")


def _sequence(found: Found) -> Iterator[Finding]:
    told: list[tuple[int, Table, AnyRow]] = [
        (row.sequence, table, row) for table in TOLD for row in found[table.name]
    ]
    for number, (sequence, table, row) in enumerate(sorted(told, key=lambda one: one[0]), 1):
        if sequence != number:
            yield against("O04", table, row, f"it stands at place {number} of its attempt")
            return  # whatever follows is out of place, too


def _counters(world: World, attempt: str, found: Found) -> Iterator[Finding]:
    if not found["attempt_counters"]:
        what = "nothing counts this attempt"
        yield missing("O04", schema.attempt_counters, world.id, attempt, what=what)
        return
    (counters,) = found["attempt_counters"]
    events = sum(len(found[table.name]) for table in TOLD)
    size = sum(len(row.bytes) for row in found["artifacts"])
    if counters.event_sequence != events:
        what = f"it counts {counters.event_sequence} events, and {events} are there"
        yield against("O04", schema.attempt_counters, counters, what)
    if counters.artifact_bytes != size:
        what = f"it counts {counters.artifact_bytes} bytes of artifacts, and {size} are there"
        yield against("O04", schema.attempt_counters, counters, what)
