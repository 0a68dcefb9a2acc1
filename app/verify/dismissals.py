"""A dismissal is of a letter that was there before, by somebody who is known (Q05, L7)."""

from __future__ import annotations

from collections.abc import Iterator

from app.store import schema
from app.verify.finding import Finding, against, missing
from app.verify.reading import Reading, Stream


def of_letters(reading: Reading) -> Iterator[Finding]:
    """Hold every dismissal against its letter and against whoever made it."""
    known = {row.principal_id for row in reading.rows(Stream(schema.principals, ("principal_id",)))}
    letters = reading.rows(Stream(schema.dead_letters, ("dead_letter_id",)))
    letter = next(letters, None)
    for row in reading.rows(Stream(schema.dismissals, ("dead_letter_id",))):
        while letter is not None and letter.dead_letter_id < row.dead_letter_id:
            letter = next(letters, None)
        if letter is None or letter.dead_letter_id != row.dead_letter_id:
            yield missing("Q05", schema.dead_letters, row.dead_letter_id, what="it was dismissed")
        elif row.dismissed_at < letter.recorded_at:
            yield against("L7", schema.dismissals, row, "it is older than its letter")
        if row.actor not in known:
            yield against("Q05", schema.dismissals, row, f"nobody is {row.actor}")
        if not row.reason.strip():
            yield against("Q05", schema.dismissals, row, "it has no reason")
