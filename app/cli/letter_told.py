"""Dead letters and their replays, told to people."""

from __future__ import annotations

import dataclasses
import sys

from app.cli.dismissing import Dismissed
from app.cli.replaying import One, Tally
from app.cli.shown import painted, plain
from app.domain.dead_letter import meaning, spoken_of
from app.store.dead_letters import Replay
from app.store.views.letter import LetterSeen, ReplaySeen

_SHOWN = 2000  #: bytes of a message that are printed


def tell(seen: LetterSeen, message: bytes | None) -> None:
    """Print a letter, and the next useful command."""
    print(painted(f"dead letter {seen.id}: {seen.cause}", "bold"))
    print(f"  {meaning(seen.cause)} Kept at {seen.at:%FT%TZ}.")
    if seen.detail:
        print(f"  {plain(seen.detail)}")
    if seen.activity is not None:
        print(f"  {seen.kind}/{seen.activity[:12]} of attempt {seen.attempt}, task {seen.task}: "
              f"{plain(seen.title or '', 60)}")  # fmt: skip
    if message is not None:
        _tell_message(seen, message)
    if seen.dismissal is not None:
        print(f"  dismissed by {seen.dismissal.actor} at {seen.dismissal.at:%FT%TZ}, because: "
              f"{plain(seen.dismissal.reason)}")  # fmt: skip
    if seen.replay is not None:
        print(f"  {_replayed(seen.replay)}")
    print(f"next: {_next(seen, message)}")


def _next(seen: LetterSeen, message: bytes | None) -> str:
    """What is worth typing now; only what names an activity can be replayed."""
    if seen.replay is not None:
        return f"fencepost explain {seen.replay.attempt or seen.replay.activity}"
    if seen.dismissal is not None:
        return "fencepost dead-letters list"
    if message is None or spoken_of(message) is not None:
        return f'fencepost dead-letters replay {seen.id} --reason "WHY" --dry-run'
    return f'fencepost dead-letters dismiss {seen.id} --reason "WHY"'


def in_full(seen: LetterSeen, message: bytes | None) -> dict[str, object]:
    """A letter for programs; a message as text."""
    spoken = None if message is None else spoken_of(message)
    return {
        **{field.name: getattr(seen, field.name) for field in dataclasses.fields(seen)},
        "meaning": meaning(seen.cause),
        "message": None if message is None else message.decode("utf-8", "backslashreplace"),
        "spoken_of": None if spoken is None else spoken.key,
    }


def say(one: One) -> None:
    """Print what became of one letter."""
    if one.replay is None:
        print(f"{one.letter}: refused, {one.message} ({one.code})", flush=True)
    elif one.is_rehearsal:
        what = "another attempt" if one.replay.attempt else f"another delivery of {one.replay.key}"
        print(f"{one.letter}: {what} would be made", flush=True)
    else:
        before = "" if one.is_new else ", before"
        print(f"{one.letter}: {_came(one.replay)}{before}", flush=True)


def sum_up(tally: Tally, *, is_rehearsal: bool) -> None:
    """Print what a run came to."""
    refused = ", ".join(f"{code} {count}" for code, count in sorted(tally.refused.items()))
    would = "would be replayed" if is_rehearsal else "replayed"
    print(f"{tally.replayed} {would}, {tally.before} before by this batch, "
          f"{tally.again} of these before, {tally.refused.total()} refused"
          f"{f' ({refused})' if refused else ''}")  # fmt: skip
    then = "without --dry-run" if is_rehearsal else "list --all"
    words = f"the same {then}" if is_rehearsal else f"fencepost dead-letters {then}"
    print(f"next: {words}; the batch is {plain(tally.batch)}", file=sys.stderr)


def dismissed(tally: Dismissed, *, is_rehearsal: bool) -> None:
    """Print how many letters were dismissed."""
    would = "would be dismissed" if is_rehearsal else "dismissed"
    before = f", {tally.before} replayed or dismissed before" if tally.before else ""
    print(f"{tally.dismissed} {would}{before}")
    then = "the same without --dry-run" if is_rehearsal else "fencepost dead-letters list --all"
    print(f"next: {then}", file=sys.stderr)


def _tell_message(seen: LetterSeen, message: bytes) -> None:
    print(f"  a message of {seen.size} bytes in queue {plain(seen.queue or '')}, "
          f"SHA-256 of what was kept {seen.digest}")  # fmt: skip
    spoken = spoken_of(message)
    if spoken is None:
        print("  it names no activity, so nothing can be replayed: find who sent it, dismiss it")
    else:
        print(f"  it names {plain(str(spoken.key))} of world {plain(spoken.key.world)}, "
              f"delivery {spoken.delivery or 'unknown'}")  # fmt: skip
    print(f"  {plain(message[:_SHOWN].decode('utf-8', 'backslashreplace'), _SHOWN)}")


def _replayed(replay: ReplaySeen) -> str:
    came = f"attempt {replay.attempt}" if replay.attempt else f"delivery {replay.delivery}"
    return (
        f"replayed as {came} by {replay.actor} at {replay.at:%FT%TZ}, batch {plain(replay.batch)}, "
        f"because: {plain(replay.reason)}"
    )


def _came(replay: Replay) -> str:
    if replay.attempt is not None:
        return f"attempt {replay.attempt}"
    return f"delivery {replay.delivery} of {replay.key}"
