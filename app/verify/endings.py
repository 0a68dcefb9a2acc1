"""One end per activity, by the one road: record, stage, tick, settle (L5, L6, L9)."""

from __future__ import annotations

from collections.abc import Iterator

from app.domain.digest import canonical
from app.store import schema
from app.verify.admissions import cursor
from app.verify.claims import ACTIVITY
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Found, Key, Stream, World, value_of


def check(world: World) -> Iterator[Finding]:
    """Hold result, end, claim, batch, settlement and letter of every activity together."""
    projected = cursor(world)
    for key, found in world.together(
        Stream(schema.claims, ACTIVITY),
        Stream(schema.results, ACTIVITY),
        Stream(schema.ends, ACTIVITY),
        Stream(schema.staged_batches, ACTIVITY, large=("bytes",)),
        Stream(schema.settlements, ACTIVITY),
        Stream(schema.dead_letters, ACTIVITY, where=schema.dead_letters.c.activity_id.is_not(None)),
    ):
        for result in found["results"]:
            yield from _ended(world, result, found)
            yield from _staged(world, result, found)
        if not found["results"]:
            yield from _unrecorded(world, key, found)
        yield from _settled(world, found, projected)
    yield from _payloads(world)


def _ended(world: World, result: AnyRow, found: Found) -> Iterator[Finding]:
    if not found["ends"]:
        key = (world.id, result.kind, result.activity_id)
        yield missing("L9", schema.ends, *key, what="its result is recorded")
    for end in found["ends"]:
        if (end.fence, end.outcome) != (result.fence, result.outcome):
            yield against("L9", schema.ends, end, "it is not the end that its result is")
        if end.staged_at is not None and not found["staged_batches"]:
            key = (world.id, result.kind, result.activity_id)
            yield missing("L9", schema.staged_batches, *key, what="its end says that it is there")
    for claim in found["claims"]:
        if (claim.end_cause == "recorded") != (claim.fence == result.fence):
            what = f"it ended as {claim.end_cause}, and claim {result.fence} recorded the result"
            yield against("L9", schema.claims, claim, what)
        if claim.fence > result.fence:
            yield against("L9", schema.claims, claim, "it was taken after the result")


def _staged(world: World, result: AnyRow, found: Found) -> Iterator[Finding]:
    """A batch says what its result is; a dead one leaves a letter, too."""
    expected = {
        "v": 1, "kind": result.kind, "activity": result.activity_id,
        "result": result.digest, "outcome": result.outcome, "fence": result.fence,
    }  # fmt: skip
    for batch in found["staged_batches"]:
        if batch.result_digest != result.digest:
            yield against("L5", schema.results, result, "its batch is of another digest")
        elif bytes(batch.bytes) != canonical(expected):
            yield against("L5", schema.staged_batches, batch, "it is not that of its result")
    if result.outcome == "dead" and found["staged_batches"] and not found["dead_letters"]:
        key = (world.id, result.kind, result.activity_id)
        yield missing("L9", schema.dead_letters, *key, what="its result is dead")
    for letter in found["dead_letters"] if result.outcome != "dead" else []:
        yield against("L9", schema.dead_letters, letter, "its activity did not end as dead")


def _unrecorded(world: World, key: Key, found: Found) -> Iterator[Finding]:
    """Whatever follows from a result is not there without one."""
    told = [name for name in ("ends", "staged_batches", "settlements", "dead_letters")
            if found[name]]  # fmt: skip
    if any(claim.end_cause == "recorded" for claim in found["claims"]):
        told.append("claims")
    for name in told:
        what = f"a row in {name} follows from it"
        yield missing("L9", schema.results, world.id, *key, what=what)


def _settled(world: World, found: Found, projected: int) -> Iterator[Finding]:
    """What a projected tick consumed is settled by that tick, and nothing else is (M11)."""
    batches = {batch.consumed_tick: batch for batch in found["staged_batches"]}
    for settlement in found["settlements"]:
        batch = batches.get(settlement.tick)
        if batch is None or batch.result_digest != settlement.result_digest:
            what = "no batch of its result was consumed by its receipt"
            yield against("L9", schema.settlements, settlement, what)
        if settlement.tick > projected:
            what = f"receipt {settlement.tick} was settled from, and it says {projected}"
            yield missing("L10", schema.projector_cursors, world.id, what=what)
    for tick, batch in batches.items():
        if tick is not None and tick <= projected and not found["settlements"]:
            what = f"receipt {tick} consumed its batch, and was projected"
            key = (world.id, batch.kind, batch.activity_id)
            yield missing("L9", schema.settlements, *key, what=what)


def _payloads(world: World) -> Iterator[Finding]:
    """A result's digest leads to bytes that say the same outcome (L5)."""
    for (digest,), found in world.together(
        Stream(schema.payloads, ("digest",), large=("bytes",)),
        Stream(schema.results, ("digest",)),
    ):
        for result in found["results"]:
            if not found["payloads"]:
                yield missing("L5", schema.payloads, world.id, digest, what="a result names it")
                continue
            said = value_of(found["payloads"][0].bytes) or {}
            if said.get("outcome") != result.outcome:
                yield against("L5", schema.results, result, "its outcome is not its payload's")
