"""Dead letters: why one was kept, and which activity a buried message speaks of (Q04, Q05)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from app.domain.errors import WrongState
from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, Kind, WorldId


class LetterCause(StrEnum):
    """Why something could not be worked on; the codes are stable."""

    # an activity that ended as dead: its identity is kept
    POISON = "poison"
    OUT_OF_TIME = "out_of_time"
    # a message that is no delivery of ours: its bytes are kept
    NOT_JSON = "not_json"
    MALFORMED = "malformed"
    UNFIT_BODY = "unfit_body"
    UNFIT_CONTENT = "unfit_content"
    UNKNOWN_TASK = "unknown_task"
    UNKNOWN_VERSION = "unknown_version"
    UNFIT_ARGUMENTS = "unfit_arguments"
    TOO_LARGE = "too_large"


#: Of an activity; every other cause is of a message.
OF_ACTIVITIES = frozenset({LetterCause.POISON, LetterCause.OUT_OF_TIME})

#: A sentence each, for people.
MEANING: Mapping[LetterCause, str] = MappingProxyType(
    {
        LetterCause.POISON: "It was started too often without a result.",
        LetterCause.OUT_OF_TIME: "The work order's time was used up before there was a result.",
        LetterCause.NOT_JSON: "The message is not JSON.",
        LetterCause.MALFORMED: "The message is JSON, but lacks a part that every message has.",
        LetterCause.UNFIT_BODY: "The body cannot be read: bad base64, or not JSON inside.",
        LetterCause.UNFIT_CONTENT: "The body is of a type that is never read, like a pickle.",
        LetterCause.UNKNOWN_TASK: "The message names a task that no worker of this release has.",
        LetterCause.UNKNOWN_VERSION: "The message is of a form that only another release knows.",
        LetterCause.UNFIT_ARGUMENTS: "The arguments are not those of a delivery.",
        LetterCause.TOO_LARGE: "The message is larger than any delivery; its beginning is kept.",
    }
)

#: What names an activity, and how long each part may be.
_NAMED = {"world": 64, "kind": 64, "activity": 200}


def meaning(cause: str) -> str:
    """The sentence of a cause; also of one that a newer release wrote."""
    try:
        return MEANING[LetterCause(cause)]
    except ValueError:
        return "A newer release of Fencepost kept it for a reason of its own."


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a buried message speaks of; anybody may have written it, so it proves nothing."""

    key: ActivityKey
    delivery: DeliveryNumber | None


def spoken_of(message: bytes) -> Spoken | None:
    """The delivery that a buried message was for, wherever in it that is said; None: none.

    Read are a whole message as Redis holds it, its body alone, and bare arguments.
    """
    said = _json(message)
    if isinstance(said, Mapping) and isinstance(said.get("body"), str):
        said = _json(_decoded(said["body"]))
    if isinstance(said, list) and len(said) > 1:
        said = said[1]  # Celery's body is [arguments, named arguments, the rest]
    if not isinstance(said, Mapping):
        return None
    if not all(_is_word(said.get(name), longest) for name, longest in _NAMED.items()):
        return None
    world, kind, activity = (str(said[name]) for name in _NAMED)
    key = ActivityKey(WorldId(world), Kind(kind), ActivityId(activity))
    return Spoken(key, _number(said.get("delivery")))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return body.encode("utf-8", "replace")


def _is_word(said: object, longest: int) -> bool:
    """No control character and no half of a surrogate pair: Postgres takes neither."""
    return isinstance(said, str) and 0 < len(said) <= longest and said.isprintable()


def _number(said: object) -> DeliveryNumber | None:
    is_one = isinstance(said, int) and not isinstance(said, bool) and 0 < said < 2**63
    return DeliveryNumber(int(str(said))) if is_one else None


# -- refusals of a replay: nothing was changed --------------------------------------------------


class NothingToReplay(WrongState):
    """The bytes of the message name no activity, so there is nothing to deliver again."""

    code = "nothing_to_replay"
    hint = "mend whoever sent it, then `fencepost dead-letters dismiss ID --reason WHY`"


class UnknownIdentity(WrongState):
    """The message names an activity that was never admitted here."""

    code = "unknown_identity"
    hint = "its sender works on another database; `fencepost dead-letters show ID` has its name"


class LetterEnded(WrongState):
    """The activity of the message has ended; a replay never revives it (Q05)."""

    code = "letter_ended"
    hint = "if it failed: `fencepost attempts retry ATTEMPT --reason WHY`"


class LetterSuperseded(WrongState):
    """Somebody was first: a newer attempt, a newer delivery, or a worker that is at it."""

    code = "letter_superseded"
    hint = "nothing needs to be replayed; `fencepost explain ID` tells what became of it"


class LetterHeld(WrongState):
    """The activity waits for a person's decision; it is delivered once that is made."""

    code = "letter_held"
    hint = "`fencepost explain ID` says what has to be decided"
