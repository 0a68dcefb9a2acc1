"""Fences and claims: gapless, one at a time, each with its delivery (L2, L3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.store import schema
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Stream, World

ACTIVITY = ("kind", "activity_id")


def check(world: World) -> Iterator[Finding]:
    """Hold every activity's claims and deliveries against its fence and against each other."""
    for key, found in world.together(
        Stream(schema.activities, ACTIVITY),
        Stream(schema.claims, ACTIVITY),
        Stream(schema.deliveries, ACTIVITY),
    ):
        if not found["activities"]:
            yield missing("L3", schema.activities, world.id, *key, what="there are rows about it")
            continue
        (activity,), claims = found["activities"], found["claims"]
        fences = [claim.fence for claim in claims]
        for absent in sorted(set(range(1, activity.fence + 1)) - set(fences)):
            what = f"the activity's fence is {activity.fence}"
            yield missing("L3", schema.claims, world.id, *key, absent, what=what)
        if fences and fences[-1] > activity.fence:
            what = f"its fence {activity.fence} is below that of a claim, {fences[-1]}"
            yield against("L3", schema.activities, activity, what)
        yield from _one_after_the_other(claims)
        yield from _numbered(world, key, found["deliveries"])
        yield from _paired(claims, found["deliveries"])


def _one_after_the_other(claims: Sequence[AnyRow]) -> Iterator[Finding]:
    for claim in claims:
        if claim.lease_until < claim.claimed_at:
            yield against("L2", schema.claims, claim, "its lease ends before it begins")
        if claim.ended is not None and claim.ended < claim.claimed_at:
            yield against("L2", schema.claims, claim, "it ended before it began")
        if claim.end_cause == "expired" and claim.ended < claim.lease_until:
            yield against("L2", schema.claims, claim, "it expired before its lease was over")
    for claim, following in pairwise(claims):
        if claim.ended is None:
            yield against("L3", schema.claims, claim, "it is open below a higher fence")
        elif claim.ended > following.claimed_at:
            yield against("L3", schema.claims, claim, "it ended after the next one began")


def _numbered(
    world: World, key: tuple[object, ...], deliveries: Sequence[AnyRow]
) -> Iterator[Finding]:
    numbers = [one.number for one in deliveries]
    for absent in sorted(set(range(1, max(numbers, default=1) + 1)) - set(numbers)):
        what = "an activity has a first delivery, and they are counted without a gap"
        yield missing("L7", schema.deliveries, world.id, *key, absent, what=what)
    waiting = [one for one in deliveries if one.claimed_fence is None and one.replaced_at is None]
    for one in waiting[:-1]:
        yield against("L1", schema.deliveries, one, "it is under way beside a later one")


def _paired(claims: Sequence[AnyRow], deliveries: Sequence[AnyRow]) -> Iterator[Finding]:
    """A claim's delivery names its fence, and the other way round."""
    by_fence = {claim.fence: claim for claim in claims}
    by_number = {one.number: one for one in deliveries}
    for claim in claims:
        if claim.delivery is None:
            continue  # the control plane's own
        sent = by_number.get(claim.delivery)
        if sent is None or sent.claimed_fence != claim.fence:
            what = f"delivery {claim.delivery} is not claimed by it"
            yield against("L1", schema.claims, claim, what)
        elif claim.claimed_at >= sent.deadline:
            yield against("L1", schema.deliveries, sent, "it was claimed after its deadline")
    for sent in deliveries:
        if sent.claimed_fence is None:
            continue
        claim_of = by_fence.get(sent.claimed_fence)
        if claim_of is None or claim_of.delivery != sent.number:
            what = f"claim {sent.claimed_fence} is not of it"
            yield against("L1", schema.deliveries, sent, what)
