"""The checks there are, and running them: each on its own, over one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.verify import (
    admissions,
    board,
    claims,
    contents,
    digests,
    dismissals,
    effects,
    endings,
    evidence,
    installation,
    kept,
    markers,
    origins,
    receipts,
    replays,
    sequences,
    unknowns,
)
from app.verify.finding import Finding, Unread, Violation
from app.verify.reading import Reading, World

#: Once a database.
OF_INSTALLATION: Mapping[str, Callable[[Reading], Iterator[Finding]]] = {
    "installation": installation.check,
    "letters": replays.of_letters,
    "dismissals": dismissals.of_letters,
}
#: Once a world.
OF_WORLD: Mapping[str, Callable[[World], Iterator[Finding]]] = {
    "receipts": receipts.check,
    "contents": contents.check,
    "origins": origins.check,
    "board": board.check,
    "admissions": admissions.check,
    "claims": claims.check,
    "evidence": evidence.check,
    "kept": kept.check,
    "sequences": sequences.check,
    "digests": digests.check,
    "endings": endings.check,
    "unknowns": unknowns.check,
    "replays": replays.check,
    "markers": markers.check,
    "effects": effects.check,
}


@dataclass(slots=True)
class Tally:
    """What a check came to."""

    check: str
    rows: int = 0
    violations: int = 0
    unread: int = 0


def verify(
    reading: Reading, worlds: Iterable[World], say: Callable[[Violation | Unread], None]
) -> list[Tally]:
    """Run every check and say what each finds, as it is found."""
    tallies = []
    for name, of_installation in OF_INSTALLATION.items():
        tallies.append(_run(name, reading, of_installation(reading), say))
    chosen = list(worlds)
    for name, of_world in OF_WORLD.items():
        found = (finding for world in chosen for finding in of_world(world))
        tallies.append(_run(name, reading, found, say))
    return tallies


def _run(
    name: str, reading: Reading, found: Iterator[Finding], say: Callable[[Finding], None]
) -> Tally:
    tally, before = Tally(name), reading.rows_read
    for finding in found:
        say(finding)
        match finding:
            case Violation():
                tally.violations += 1
            case Unread():
                tally.unread += 1
    tally.rows = reading.rows_read - before
    return tally
