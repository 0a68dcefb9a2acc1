"""Log lines: one for each moment, its wording and level decided here, ids as fields."""

from __future__ import annotations

import functools
import logging
import sys
import time

from app.events import Event, Moment, subscribers

_WARNINGS = frozenset(
    {
        Moment.BROKER_WIPED, Moment.BURIED, Moment.CLAIM_EXPIRED, Moment.HELD, Moment.LOST,
        Moment.NO_ROOM, Moment.REF_ALARMING, Moment.ROLE_DIED, Moment.STALLED, Moment.TROUBLE,
    }
)  # fmt: skip
#: What happens every few seconds and changes nothing: counted, not written.
_DETAILS = frozenset({Moment.RENEWED})


def to_stderr(role: str) -> None:
    """Write every moment of this process, and what libraries have to say, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    form = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%FT%T")
    form.converter = time.gmtime
    handler.setFormatter(form)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    own = logging.getLogger("fencepost")
    own.setLevel(logging.INFO)
    subscribers.append(functools.partial(_write, own, role))


def line(role: str, event: Event) -> str:
    """A moment as one line, whatever its facts hold."""
    facts = (f"{name}={_shown(value)}" for name, value in event.facts.items())
    return " ".join([role, event.moment, *facts])


def _write(logger: logging.Logger, role: str, event: Event) -> None:
    level = logging.WARNING if event.moment in _WARNINGS else logging.INFO
    if event.moment in _DETAILS:
        level = logging.DEBUG
    logger.log(level, "%s", line(role, event))


def _shown(value: str | int) -> str:
    plain = str(value)
    return plain if plain.isprintable() and plain and " " not in plain else repr(plain)
