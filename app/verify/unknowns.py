"""Work held as unknown stays as it is until a person decides (L9)."""

from __future__ import annotations

from collections.abc import Iterator

from app.store import schema
from app.verify.claims import ACTIVITY
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Found, Stream, World


def check(world: World) -> Iterator[Finding]:
    """Hold every unknown against the claims and results of its activity."""
    for key, found in world.together(
        Stream(schema.activities, ACTIVITY),
        Stream(schema.claims, ACTIVITY),
        Stream(schema.unknowns, ACTIVITY),
        Stream(schema.results, ACTIVITY),
    ):
        held = {unknown.fence for unknown in found["unknowns"]}
        for claim in found["claims"]:
            if claim.end_cause == "held" and claim.fence not in held:
                what = "the claim ended as held"
                yield missing("L9", schema.unknowns, world.id, *key, claim.fence, what=what)
        for unknown in found["unknowns"]:
            yield from _kept(unknown, found)


def _kept(unknown: AnyRow, found: Found) -> Iterator[Finding]:
    fences = {claim.fence for claim in found["claims"]}
    if unknown.fence not in fences:
        yield against("L9", schema.unknowns, unknown, "no claim has its fence")
    if unknown.decided_at is not None and unknown.decided_at < unknown.opened_at:
        yield against("L9", schema.unknowns, unknown, "it was decided before it was opened")
    for claim in found["claims"]:
        is_later = claim.fence > unknown.fence
        if is_later and (unknown.decided_at is None or claim.claimed_at < unknown.decided_at):
            yield against("L9", schema.claims, claim, f"unknown {unknown.fence} was undecided")
    if unknown.decided_at is None and found["results"]:
        yield against("L9", schema.unknowns, unknown, "it is open, and the result is recorded")
