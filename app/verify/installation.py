"""What belongs to no world: installation, principals, buried messages, strays (L10, L11)."""

from __future__ import annotations

from collections.abc import Iterator

from app.domain.digest import digest
from app.store import schema
from app.verify.finding import Finding, against, missing
from app.verify.reading import Reading, Stream

#: Messages speak of any world they like; so do the letters that were made of them.
HEARSAY = {"verdicts"}
KEPT = 262144  #: bytes of a buried message
#: It decides nothing by itself, so it may do nothing (L11).
DISPATCHER = "dispatcher"


def check(reading: Reading) -> Iterator[Finding]:
    """One installation, principals for whoever acted, and no row outside every world."""
    if len(list(reading.rows(Stream(schema.installation, ("only_one",))))) != 1:
        yield missing("L1", schema.installation, "only", what="an installation has one name")
    yield from _principals(reading)
    for table in schema.metadata.sorted_tables:
        if "world_id" in table.c and table.name not in (*HEARSAY, schema.worlds.name):
            for stranger in reading.strangers(table):
                what = f"{table.name} has rows of it"
                yield missing("L10", schema.worlds, stranger, what=what)
    for letter in reading.rows(Stream(schema.dead_letters, ("dead_letter_id",), large=("bytes",))):
        if letter.bytes is None:
            continue
        held = bytes(letter.bytes)
        if digest(held) != letter.digest or len(held) != min(letter.size or 0, KEPT):
            yield against("L7", schema.dead_letters, letter, "its bytes are not those it kept")


def _principals(reading: Reading) -> Iterator[Finding]:
    known = {row.principal_id: row for row in reading.rows(Stream(schema.principals, ()))}
    if DISPATCHER in known and known[DISPATCHER].scopes:
        yield against("L11", schema.principals, known[DISPATCHER], "the dispatcher has scopes")
    acted = {row.actor for row in reading.rows(Stream(schema.receipts, ()))}
    decided = {row.decided_by for row in reading.rows(Stream(schema.unknowns, ()))}
    for name in sorted((acted | decided) - {None} - set(known), key=str):
        yield missing("L10", schema.principals, str(name), what="it has acted")
