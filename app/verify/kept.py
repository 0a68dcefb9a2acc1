"""Where the remote takes no mark, what was published was kept here first (L4, PROTOCOL §7)."""

from __future__ import annotations

from collections.abc import Iterator

from app.store import schema
from app.verify.claims import ACTIVITY
from app.verify.finding import Finding, against
from app.verify.reading import Found, Stream, World, value_of

UNMARKED = "database"


def check(world: World) -> Iterator[Finding]:
    """Hold the payloads that were kept first against the starts, and results against them."""
    for _, found in world.together(
        Stream(schema.starts, ACTIVITY),
        Stream(schema.payloads, ACTIVITY, where=schema.payloads.c.deposited),
        Stream(schema.results, ACTIVITY),
    ):
        yield from _begun(found)
        if any(start.mode == UNMARKED for start in found["starts"]):
            yield from _published(world, found)


def _begun(found: Found) -> Iterator[Finding]:
    unmarked = {start.fence for start in found["starts"] if start.mode == UNMARKED}
    for start in found["starts"] if unmarked else []:
        if start.mode != UNMARKED:
            what = "it stands on a mark at the remote, and another start of the work on none"
            yield against("L4", schema.starts, start, what)
    for payload in found["payloads"]:
        if payload.fence not in unmarked:
            yield against("L4", schema.payloads, payload, "no start without a mark was before it")


def _published(world: World, found: Found) -> Iterator[Finding]:
    kept = {payload.digest for payload in found["payloads"]}
    for result in found["results"]:
        said = value_of(world.payload(result.digest) or b"") or {}
        if isinstance(said.get("candidate"), dict) and result.digest not in kept:
            what = "it published a branch, and its payload was not kept first"
            yield against("L4", schema.results, result, what)
