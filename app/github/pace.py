"""How slowly GitHub wants to be asked, by the headers of an answer that was not refused (G04)."""

from __future__ import annotations

import time
from datetime import timedelta
from email.utils import parsedate_to_datetime

from app.github.answer import Answer

_LONGEST = 23 * 3600.0  #: seconds; the database takes no pause longer than a day


def pause_of(answer: Answer) -> timedelta:
    """The pause that is asked for: an interval, and where nothing is left, until there is more.

    Times are counted by GitHub's own clock, as the answer gives it (Q13).
    """
    headers = answer.headers
    seconds = _number(headers.get("x-poll-interval"))
    if headers.get("x-ratelimit-remaining") == "0":
        # a second more: it is not said at which instant of that second
        seconds = max(seconds, _number(headers.get("x-ratelimit-reset")) - _now(answer) + 1)
    return timedelta(seconds=min(max(seconds, 0.0), _LONGEST))


def _number(said: str | None) -> float:
    return float(said) if said and said.isascii() and said.isdigit() and len(said) < 12 else 0.0


def _now(answer: Answer) -> float:
    try:
        return parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except ValueError:
        return time.time()
