"""Values from outside, cut to what an event may hold and fit for canonical bytes."""

from __future__ import annotations

import json

from app.domain.digest import Json, text

LONGEST = 4_000  #: signs of one text
_MOST = 50  #: items of a list or an object
_DEEPEST = 6
_LARGEST = 16 * 1024  #: bytes of a whole value


def words(value: object, longest: int = LONGEST) -> str:
    """A text, of a longer one the beginning; of anything else nothing."""
    if not isinstance(value, str):
        return ""
    return text(value.replace("\0", ""))[:longest]


def count(value: object) -> int | None:
    """A count that was reported; None is what was not, or is none."""
    is_count = type(value) is int and 0 <= value < 2**53
    return value if is_count and isinstance(value, int) else None


def bounded(value: object) -> Json:
    """Any JSON; what is too long is cut, what is too deep or too large becomes its text, cut."""
    kept = _bounded(value, _DEEPEST)
    if len(json.dumps(kept)) > _LARGEST:
        return words(json.dumps(kept))
    return kept


def _bounded(value: object, depth: int) -> Json:
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < 2**53 else str(value)
        case float():
            return str(value)  # canonical bytes hold no fractions
        case str():
            return words(value)
        case list() | dict() if depth == 0:
            return words(json.dumps(value))
        case list():
            return [_bounded(one, depth - 1) for one in value[:_MOST]]
        case dict():
            some = list(value.items())[:_MOST]
            return {words(str(name), 200): _bounded(one, depth - 1) for name, one in some}
        case _:
            return words(str(value))
