"""How operation refs and their pruning are told."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from app.cli.shown import age, listing, plain
from app.domain.operation import REF_PREFIX
from app.domain.pruning import Judged, Standing
from app.operations.place import Place

#: What is left alone for now, and nobody has to do with.
KEPT = frozenset(
    {Standing.UNKNOWN, Standing.OPEN, Standing.HELD, Standing.UNSETTLED, Standing.YOUNG}
)
_KINDS = {True: "ref", False: "branch"}


def facts(place: Place, one: Judged) -> dict[str, object]:
    """A ref in full."""
    known = one.known
    return {
        "repository": place.name, "url": place.url, "ref": plain(one.seen.ref), "sha": one.seen.sha,
        "operation": one.seen.operation, "standing": one.standing, "why": one.why,
        "world": known.key.world if known else None, "kind": known.key.kind if known else None,
        "activity": known.key.activity if known else None,
        "attempt": known.attempt if known else None,
        "outcome": known.outcome if known else None,
        "ended_at": known.ended_at if known else None,
    }  # fmt: skip


def table(found: Sequence[tuple[Place, Judged]], limit: int) -> None:
    """The refs, as many as are asked for."""
    rows = [
        (place.name, plain((one.seen.operation or one.seen.ref)[:12]),
         _KINDS[one.seen.ref.startswith(REF_PREFIX)], one.standing,
         one.known.key.kind if one.known else "", one.known.attempt if one.known else "",
         (one.known.outcome if one.known else "") or "",
         age(one.known.settled_for if one.known else None))
        for place, one in found[:limit]
    ]  # fmt: skip
    if len(found) > limit:
        print(f"{limit} of {len(found)}; --limit shows more", file=sys.stderr)
    listing(
        ("repository", "operation", "as", "standing", "kind", "attempt", "outcome", "settled"),
        rows, empty="no operation ref is at any remote", then="fencepost refs prune --dry-run",
    )  # fmt: skip


def counted(refs: Mapping[Standing, int]) -> None:
    """How many there are of each standing."""
    if refs:
        print(_counts(refs, Standing))


def say(place: Place, one: Judged) -> None:
    """A ref that stays, although its work ended long ago."""
    word = "refused" if one.standing is Standing.REFUSED else f"alarm ({one.standing})"
    print(f"{word}: {place.name}: {plain(one.seen.ref)}: {plain(one.why, 600)}")


def sum_up(refs: Mapping[Standing, int], *, is_rehearsal: bool) -> None:
    """What was done, and what was left."""
    done = Standing.DUE if is_rehearsal else Standing.DELETED
    number = refs.get(done, 0)
    would = "would be " if is_rehearsal else ""
    print(f"{number} operation {'ref' if number == 1 else 'refs'} {would}deleted")
    rest = _counts(refs, (one for one in Standing if one is not done))
    if rest:
        print(f"left: {rest}")
    if is_rehearsal and number:
        print("next: fencepost refs prune", file=sys.stderr)


def _counts(refs: Mapping[Standing, int], order: Iterable[Standing]) -> str:
    return ", ".join(f"{refs[one]} {one.replace('_', ' ')}" for one in order if refs.get(one))
