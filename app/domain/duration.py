"""Durations as people write them: `90s`, `10m`, `2h`, `1d`."""

from __future__ import annotations

import re
from datetime import timedelta

from app.domain.errors import BadInput

PATTERN = "[0-9]{1,9}[smhd]"
LONGEST = timedelta(days=7)

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
