"""Work held as unknown stays so until a person decides, and then goes as decided (L9, G02)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.domain.digest import Json
from app.store import schema
from app.verify.claims import ACTIVITY
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Found, Key, Stream, World, value_of

PULL_REQUEST = "forge.pull_request"
#: What a person may say of what, written down a second time; all else may be tried, or left.
ONLY_LOOK = ("look_again",)
ADOPTING = ("look_again", "adopt", "abandon")
VOUCHING = ("look_again", "attest_absence", "abandon")
OF_REF: Mapping[str, tuple[str, ...]] = {
    "operation_ref_missing": VOUCHING,
    "publication_uncertain": VOUCHING,
    "closed_without_decision": ("abandon",),
    **dict.fromkeys(
        ("foreign_operation_ref", "malformed_result", "digest_conflict", "modes_mixed"), ONLY_LOOK
    ),
}
OF_CALLS: Mapping[str, tuple[str, ...]] = {
    "unresolved_call": VOUCHING,
    "digest_conflict": ONLY_LOOK,
    **dict.fromkeys(
        ("foreign_open", "foreign_closed", "foreign_merged", "head_moved", "base_changed",
         "several", "request_missing"), ADOPTING,
    ),
}  # fmt: skip
OTHERWISE = ("look_again", "abandon")


def check(world: World) -> Iterator[Finding]:
    """Hold every unknown against the claims, calls, results and receipts that it is about."""
    for key, found in world.together(
        Stream(schema.activities, ACTIVITY),
        Stream(schema.claims, ACTIVITY),
        Stream(schema.unknowns, ACTIVITY),
        Stream(schema.results, ACTIVITY),
        Stream(schema.effect_calls, ACTIVITY),
        Stream(schema.effect_answers, ACTIVITY),
    ):
        held = {unknown.fence for unknown in found["unknowns"]}
        for claim in found["claims"]:
            if claim.end_cause == "held" and claim.fence not in held:
                what = "the claim ended as held"
                yield missing("L9", schema.unknowns, world.id, *key, claim.fence, what=what)
        for unknown in found["unknowns"]:
            yield from _kept(unknown, found)
            yield from _decided(unknown, found)
        yield from _never_followed(found)
    for (tick,), found in world.together(
        Stream(schema.receipts, ("tick",), ("bytes",), schema.receipts.c.verb == "resolve"),
        Stream(schema.unknowns, ("decided_tick",),
               where=schema.unknowns.c.decided_tick.is_not(None)),
    ):  # fmt: skip
        yield from _told(world, tick, found)


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


def _decided(unknown: AnyRow, found: Found) -> Iterator[Finding]:
    """A decision is one that its kind and code allow; whoever gives up stops the work."""
    if unknown.decision is None:
        return
    table = OF_CALLS if unknown.kind == PULL_REQUEST else OF_REF
    if unknown.decision not in table.get(unknown.code, OTHERWISE):
        what = f"{unknown.decision} is no decision of what is held as {unknown.code}"
        yield against("L9", schema.unknowns, unknown, what)
    if unknown.decided_tick is None:
        yield against("L10", schema.unknowns, unknown, "no receipt tells of its decision")
    if (unknown.decision == "adopt") != (unknown.adopts is not None):
        yield against("L9", schema.unknowns, unknown, "who adopts names a request")
    for activity in found["activities"]:
        if unknown.decision == "abandon" and activity.stop is None:
            yield against("L9", schema.activities, activity, "it was abandoned, and is not stopped")


def _never_followed(found: Found) -> Iterator[Finding]:
    """A call follows one without an answer only with a person's word for it (G02)."""
    answered = {(one.call_fence, one.n): one.recorded_at for one in found["effect_answers"]}
    words = [
        one for one in found["unknowns"]
        if one.code == "unresolved_call" and one.decision == "attest_absence"
    ]  # fmt: skip
    for later in found["effect_calls"]:
        for call in found["effect_calls"]:
            if (call.fence, call.n) >= (later.fence, later.n):
                continue
            at = answered.get((call.fence, call.n))
            is_open = at is None or at > later.recorded_at
            if is_open and not any(
                call.fence <= word.fence < later.fence and word.decided_at < later.recorded_at
                for word in words
            ):
                what = f"call {call.fence}.{call.n} before it had no answer"
                yield against("G02", schema.effect_calls, later, what)


def _told(world: World, tick: object, found: Found) -> Iterator[Finding]:
    """One decision a receipt, and what the row says of it is what the receipt says (L10)."""
    said: Mapping[str, Json] = {}
    for receipt in found["receipts"]:
        said = value_of(receipt.bytes) or {}
        if not found["unknowns"]:
            what = f"receipt {tick} decided one"
            yield missing("L10", schema.unknowns, world.id, what=what)
    for unknown in found["unknowns"]:
        if not found["receipts"] or len(found["unknowns"]) > 1:
            yield against("L10", schema.unknowns, unknown, f"receipt {tick} does not decide it")
        elif _as_row(said) != _row(unknown):
            yield against("L10", schema.unknowns, unknown, f"receipt {tick} says something else")


def _as_row(said: Mapping[str, Json]) -> Key:
    subject = said.get("subject")
    told = subject if isinstance(subject, Mapping) else {}
    names = ("kind", "activity", "fence", "code", "decision", "adopts")
    return (*(told.get(name) for name in names), said.get("actor"), said.get("reason"))


def _row(unknown: AnyRow) -> Key:
    return (
        unknown.kind, unknown.activity_id, unknown.fence, unknown.code, unknown.decision,
        unknown.adopts, unknown.decided_by, unknown.reason,
    )  # fmt: skip
