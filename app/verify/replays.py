"""A letter is replayed once, by a row that its attempt or delivery agrees with (Q05, L7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from app.domain.digest import Json
from app.store import schema
from app.verify.claims import ACTIVITY
from app.verify.evidence import begun_in
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Found, Key, Reading, Stream, World, value_of

#: Of an activity; a letter for any other reason holds a message.
POISON, OUT_OF_TIME = "poison", "out_of_time"
REPLAYED = "replayed"


def of_letters(reading: Reading) -> Iterator[Finding]:
    """Each replay is of a letter that was there before; a batch has one asker with one reason."""
    letters = reading.rows(Stream(schema.dead_letters, ("dead_letter_id",)))
    letter = next(letters, None)
    for row in reading.rows(Stream(schema.replays, ("dead_letter_id",))):
        while letter is not None and letter.dead_letter_id < row.dead_letter_id:
            letter = next(letters, None)
        if letter is None or letter.dead_letter_id != row.dead_letter_id:
            yield missing("Q05", schema.dead_letters, row.dead_letter_id, what="it was replayed")
            continue
        key = (letter.world_id, letter.kind, letter.activity_id)
        if letter.activity_id is None and row.delivery is None:
            yield against("Q05", schema.replays, row, "a message came to an attempt")
        if letter.activity_id is not None and (
            row.attempt_id is None or key != (row.world_id, row.kind, row.activity_id)
        ):
            yield against("Q05", schema.replays, row, "it is not of its letter's activity")
        if row.replayed_at < letter.recorded_at:
            yield against("L7", schema.replays, row, "it is older than its letter")
    by_batch = reading.rows(Stream(schema.replays, ("batch", "dead_letter_id")))
    for _, rows in groupby(by_batch, lambda row: row.batch):
        first, *others = rows
        for row in others:
            if (row.actor, row.reason) != (first.actor, first.reason):
                yield against("Q05", schema.replays, row, "its batch was begun by somebody else")


def check(world: World) -> Iterator[Finding]:
    """Hold replays against attempts, receipts, deliveries and results of a world, both ways."""
    for _, found in world.together(
        Stream(schema.replays, ("attempt_id",), where=schema.replays.c.attempt_id.is_not(None)),
        Stream(schema.attempts, ("attempt_id",)),
    ):
        for row in found["replays"]:
            yield from _attempt(world, row, found["attempts"])
    for (tick,), found in world.together(
        Stream(schema.replays, ("tick",), where=schema.replays.c.tick.is_not(None)),
        Stream(schema.receipts, ("tick",), large=("bytes",)),
    ):
        yield from _receipt(world, tick, found)
    for key, found in world.together(
        Stream(schema.replays, (*ACTIVITY, "delivery"), where=schema.replays.c.tick.is_(None)),
        Stream(schema.deliveries, (*ACTIVITY, "number"),
               where=schema.deliveries.c.cause == REPLAYED),
    ):  # fmt: skip
        yield from _delivery(world, key, found)
    for _, found in world.together(
        Stream(schema.replays, ACTIVITY),
        Stream(schema.dead_letters, ACTIVITY, where=schema.dead_letters.c.activity_id.is_not(None)),
        Stream(schema.activities, ACTIVITY),
        Stream(schema.starts, ACTIVITY),
        Stream(schema.effect_calls, ACTIVITY),
        Stream(schema.effect_answers, ACTIVITY),
        Stream(schema.results, ACTIVITY),
    ):
        yield from _activity(found)


def _attempt(world: World, row: AnyRow, attempts: list[AnyRow]) -> Iterator[Finding]:
    if not attempts:
        what = f"dead letter {row.dead_letter_id} was replayed as it"
        yield missing("Q05", schema.attempts, world.id, row.attempt_id, what=what)
    for attempt in attempts:
        said = (attempt.actor, attempt.reason, attempt.tick)
        if said != (row.actor, row.reason, row.tick):
            yield against("Q05", schema.replays, row, "its attempt is by another, or for another")


def _receipt(world: World, tick: object, found: Found) -> Iterator[Finding]:
    """The receipt of a replay names its letter, and every letter that one names was replayed."""
    told: dict[Json, Mapping[str, Json]] = {}
    for receipt in found["receipts"]:
        subject = (value_of(receipt.bytes) or {}).get("subject")
        if isinstance(subject, Mapping) and "letter" in subject:
            told[subject["letter"]] = subject
    for row in found["replays"]:
        subject = told.pop(row.dead_letter_id, {})
        said = (subject.get("attempt"), subject.get("batch"))
        if said != (row.attempt_id, row.batch):
            yield against("Q05", schema.replays, row, f"receipt {tick} does not say so")
    for letter in told:
        yield missing("Q05", schema.replays, letter, what=f"receipt {tick} of {world.id} names it")


def _delivery(world: World, key: Key, found: Found) -> Iterator[Finding]:
    if not found["replays"]:
        yield missing("Q05", schema.replays, world.id, *key, what="a delivery is made for it")
    if not found["deliveries"]:
        yield missing("Q05", schema.deliveries, world.id, *key, what="a message was replayed as it")


def _activity(found: Found) -> Iterator[Finding]:
    """Nothing that had ended was delivered again; a letter's cause is as the starts say."""
    for row in found["replays"]:
        for result in found["results"]:
            if row.delivery is not None and result.recorded_at < row.replayed_at:
                yield against("Q05", schema.replays, row, "its activity had ended before")
    begun = {row.fence for row in begun_in(found)}
    for letter in found["dead_letters"]:
        for activity in found["activities"]:
            # the first release had one cause for both
            causes = {POISON} if len(begun) >= activity.most_starts else {POISON, OUT_OF_TIME}
            if letter.cause not in causes:
                what = f"after {len(begun)} of {activity.most_starts} starts it is {letter.cause}"
                yield against("Q09", schema.dead_letters, letter, what)
