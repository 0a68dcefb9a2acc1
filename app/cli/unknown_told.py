"""Unknowns and their decisions, told to people."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from app.cli.resolving import One
from app.cli.shown import age, elapsed, painted, plain, short
from app.cli.telling import sentence
from app.domain.decision import allowed
from app.store.views.story import Entry
from app.store.views.unknowns import UnknownSeen
from app.transitions.resolve import proof_of


def tell(seen: UnknownSeen, tried: Sequence[Entry]) -> None:
    """Print one: why it is held, what was tried, what may be decided, and the next command."""
    name = f"{seen.activity[:12]}.{seen.fence}"
    print(painted(f"unknown {name}: {seen.code}", "bold"))
    print(f"  {plain(seen.detail, 2000)}")
    stop = f", which is stopped ({seen.stop})" if seen.stop else ""
    print(f"  {seen.kind}/{seen.activity[:12]}{stop}, of attempt {seen.attempt}: "
          f"{plain(seen.title, 60)}")  # fmt: skip
    print(f"  repository {plain(seen.repository)}, held {age(seen.age)} ago "
          f"at {seen.opened_at:%FT%TZ}")  # fmt: skip
    print("what was tried:")
    for entry in tried:
        print(f"  {elapsed(entry.at - tried[0].at):>9}  {sentence(entry)}")
    if seen.decision is not None:
        number = f" request #{seen.adopts}" if seen.adopts else ""
        print(f"decided by {seen.decided_by} in receipt {seen.tick}: {seen.decision}{number}, "
              f"because: {plain(seen.reason or '')}")  # fmt: skip
        print(f"next: fencepost explain {seen.attempt}")
        return
    print("what may be decided:")
    for decision, follows in allowed(proof_of(seen.key.kind), seen.code).items():
        print(f"  {decision:<15} {follows}")
    print(f'next: fencepost unknown resolve {name} --decision D --reason "WHY"')


def in_full(seen: UnknownSeen) -> dict[str, object]:
    """One for programs, with what may be decided of it."""
    choices = allowed(proof_of(seen.key.kind), seen.code) if seen.decision is None else {}
    return {
        "id": seen.id,
        **{field.name: getattr(seen, field.name) for field in dataclasses.fields(seen)},
        "decisions": dict(choices),
    }


def short_ids(found: Sequence[UnknownSeen]) -> dict[str, str]:
    """Each one's id with as much of its activity as tells it from the others."""
    ids = short([one.activity for one in found])
    return {one.id: f"{ids[one.activity]}.{one.fence}" for one in found}


def words(one: One, decision: str) -> str:
    """What became of one."""
    name = f"{one.seen.activity[:12]}.{one.seen.fence}"
    if one.code is not None:
        return f"{name}: refused, {plain(one.message or '')} ({one.code})"
    return f"{name}: {decision}; {one.follows}"


def then(done: Sequence[One], *, is_rehearsal: bool) -> str:
    """The next useful command."""
    if is_rehearsal:
        return "the same without --dry-run"
    decided = [one for one in done if one.code is None]
    return f"fencepost explain {decided[0].seen.attempt}" if decided else "fencepost unknown list"
