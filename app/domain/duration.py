"""Durations as people write them: `90s`, `10m`, `2h`, `1d`."""

from __future__ import annotations

import re
from datetime import timedelta

from app.domain.errors import BadInput

PATTERN = "[0-9]{1,9}[smhd]"
LONGEST = timedelta(days=7)

_SPAN = re.compile(r"([0-9]{1,9})(\.[0-9]{1,3})?([smhd]?)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(written: str, longest: timedelta = LONGEST) -> timedelta:
    """A whole number of seconds, minutes, hours or days, of a second at least; else BadInput."""
    if re.fullmatch(PATTERN, written) is None:
        raise BadInput(f"{written!r} is no duration; write 90s, 10m or 2h")
    try:
        length = timedelta(**{_UNITS[written[-1]]: int(written[:-1])})
    except OverflowError:
        length = timedelta.max
    if not timedelta(seconds=1) <= length <= longest:
        raise BadInput(f"{written!r} is not between 1s and {longest.days}d")
    return length


def span(
    written: str, least: timedelta = timedelta(seconds=1), longest: timedelta = LONGEST
) -> timedelta:
    """The same as it is typed and set: a number alone is seconds, and it may have a fraction."""
    found = _SPAN.fullmatch(written.strip())
    if found is None:
        raise BadInput(f"{written!r} is no duration; write 90s, 10m or 2h; a number is seconds")
    number = float(found[1] + (found[2] or ""))
    try:
        length = timedelta(**{_UNITS[found[3] or "s"]: number})
    except OverflowError:
        length = timedelta.max
    if not least <= length <= longest:
        raise BadInput(f"{written!r} is not between {shown(least)} and {shown(longest)}")
    return length


def shown(length: timedelta) -> str:
    """A length of time as it may be typed."""
    seconds = length.total_seconds()
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
