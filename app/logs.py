"""Log lines: one for each moment, its wording and level decided here, ids as fields."""

from __future__ import annotations

import functools
import logging
import sys
import threading
import time

from app import secrecy
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
    """Write every moment of this process, and what libraries have to say, to standard error.

    No line tells what this process must not tell, whoever wrote it; nor does the end of a thread.
    """
    handler = logging.StreamHandler(sys.stderr)
    form = _Discreet("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%FT%T")
    form.converter = time.gmtime
    handler.setFormatter(form)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    own = logging.getLogger("fencepost")
    own.setLevel(logging.INFO)
    subscribers.append(functools.partial(_write, own, role))
    sys.excepthook = lambda kind, fault, trace: root.error("", exc_info=(kind, fault, trace))
    threading.excepthook = _thread_ended


class _Discreet(logging.Formatter):
    """Leaves secrets out of whole entries, tracebacks too."""

    def format(self, record: logging.LogRecord) -> str:
        return secrecy.redacted(super().format(record))


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        trace = (ended.exc_type, ended.exc_value, ended.exc_traceback)
        logging.getLogger().error("thread %s", ended.thread and ended.thread.name, exc_info=trace)


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
