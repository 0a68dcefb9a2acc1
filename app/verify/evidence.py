"""What workers wrote: each row under a claim that was live then (L2), bound first (L4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from sqlalchemy import Table

from app.domain.digest import digest_of
from app.store import schema
from app.verify.claims import ACTIVITY
from app.verify.finding import AnyRow, Finding, against
from app.verify.reading import Found, Stream, World, value_of

#: Every table in front of which the fence stands.
FENCED = (
    schema.bindings, schema.starts, schema.effect_calls, schema.effect_answers, schema.events,
    schema.artifacts, schema.payloads, schema.results,
)  # fmt: skip
#: A kind whose claims change nothing outside.
ONLY_LOOKS = "forge.checks"
#: The trigger reads the clock twice: for the lease, and then for the row.
BETWEEN = timedelta(seconds=1)


def check(world: World) -> Iterator[Finding]:
    """Hold each fenced table against the claims, then each start against its binding."""
    for table in FENCED:
        for _, found in world.together(Stream(schema.claims, ACTIVITY), Stream(table, ACTIVITY)):
            yield from _under_live_claims(table, found)
    for _, found in world.together(
        Stream(schema.activities, ACTIVITY, large=("request",)),
        Stream(schema.bindings, ACTIVITY),
        Stream(schema.starts, ACTIVITY),
        Stream(schema.effect_calls, ACTIVITY),
        Stream(schema.effect_answers, ACTIVITY),
    ):
        if found["activities"]:
            yield from _bound(world, found)
        yield from _answered(found)
    yield from _gapless(world, schema.events)
    yield from _gapless(world, schema.effect_calls)


def _under_live_claims(table: Table, found: Found) -> Iterator[Finding]:
    claims = {claim.fence: claim for claim in found["claims"]}
    for row in found[table.name]:
        claim = claims.get(row.fence)
        if claim is None:
            yield against("L2", table, row, f"no claim has its fence {row.fence}")
        elif row.recorded_at < claim.claimed_at:
            yield against("L2", table, row, f"written before claim {row.fence} began")
        elif claim.ended is not None and row.recorded_at > claim.ended:
            yield against("L2", table, row, f"written after claim {row.fence} ended")
        elif row.recorded_at > claim.lease_until + BETWEEN:
            yield against("L2", table, row, f"written after the lease of claim {row.fence}")


def _bound(world: World, found: Found) -> Iterator[Finding]:
    (activity,), bindings = found["activities"], found["bindings"]
    request = value_of(activity.request) or {}
    name = digest_of([world.id, activity.kind, activity.activity_id, str(request.get("provider"))])
    for binding in bindings:
        if not binding.operation_id == request.get("operation") == name:
            what = "it names another operation than that of its activity"
            yield against("L4", schema.bindings, binding, what)
    begun = [(table, row) for table in (schema.starts, schema.effect_calls)
             for row in found[table.name]]  # fmt: skip
    for table, row in begun:
        if not any(binding.recorded_at <= row.recorded_at for binding in bindings):
            yield against("L4", table, row, "no operation was bound before it")
        if activity.kind == ONLY_LOOKS:
            yield against("L4", table, row, "its kind only looks, and begins nothing")
    fences = {row.fence for row in begun_in(found)}
    if len(fences) > activity.most_starts:
        what = f"{len(fences)} claims started it, and {activity.most_starts} may"
        yield against("L9", schema.activities, activity, what)


def begun_in(found: Found) -> list[AnyRow]:
    """What has begun something: starts, and calls that were not refused (Q09)."""
    refused = {(one.call_fence, one.n) for one in found["effect_answers"]
               if one.outcome == "refused"}  # fmt: skip
    calls = [one for one in found["effect_calls"] if (one.fence, one.n) not in refused]
    return [*found["starts"], *calls]


def _answered(found: Found) -> Iterator[Finding]:
    calls = {(call.fence, call.n): call for call in found["effect_calls"]}
    for answer in found["effect_answers"]:
        call = calls.get((answer.call_fence, answer.n))
        if call is None:
            yield against("L4", schema.effect_answers, answer, "no such call was written down")
        elif answer.fence < call.fence or answer.recorded_at < call.recorded_at:
            yield against("L4", schema.effect_answers, answer, "it is older than its call")


def _gapless(world: World, table: Table) -> Iterator[Finding]:
    """Rows that are numbered within their claim: from one, without a gap (L7)."""
    for _, found in world.together(Stream(table, (*ACTIVITY, "fence"))):
        yield from _counted(table, found[table.name])


def _counted(table: Table, rows: Sequence[AnyRow]) -> Iterator[Finding]:
    for before, row in zip((0, *(row.n for row in rows)), rows, strict=False):
        if row.n != before + 1:
            yield against("L7", table, row, f"number {row.n - 1} before it is missing")
