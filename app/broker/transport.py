"""The door of a worker: what comes out of Redis is read by us before Celery sees it (Q04).

A stock worker dies of a message that is not JSON, reconnects at one that is `{}`, and drops one of
an unknown task. Here a sound message is passed on in a form of our own; anything else goes to the
grave with its bytes, and Celery finds that the queue had nothing for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from queue import Empty
from typing import Any

import redis
from kombu import transport
from kombu.transport.redis import SentinelTransport, Transport

from app.broker import message
from app.domain.dead_letter import LetterCause
from app.events import Moment, emit

#: Takes the queue, the cause and the bytes of what is no delivery.
Grave = Callable[[str, LetterCause, bytes], None]

_SCHEMES = {"redis": Transport, "rediss": Transport, "sentinel": SentinelTransport}
_PRIORITY = b"\x06\x16"  #: between a queue's name and a priority, in a list's name


class Door:
    """Lets sound messages in, and counts all that came."""

    def __init__(self, grave: Grave, is_shut: Callable[[], bool] = lambda: False) -> None:
        self.is_shut = is_shut  #: nothing is taken out of Redis while this says so
        self.read: Counter[str] = Counter()  #: messages of each queue, sound or not
        self._grave = grave

    def passed(self, queue: str, said: bytes) -> bytes | None:
        """The message to pass on; None: it was buried."""
        self.read[queue] += 1
        known = message.read(said)
        if isinstance(known, LetterCause):
            self._grave(queue, known, said)
            return None
        return message.written(known, queue)


def install(door: Door) -> None:
    """Have every connection of this process that consumes from Redis read through the door.

    The schemes of the URLs stay, because Flower and Celery choose their ways by them.
    """
    for scheme, base in _SCHEMES.items():
        guarded = _guarded(base, door)
        transport.TRANSPORT_ALIASES[scheme] = lambda guarded=guarded: guarded
        transport._transport_cache.pop(scheme, None)


def _guarded(base: Any, door: Door) -> Any:
    """Kombu's Redis transport, with the door in the two places where it reads."""

    class Client(redis.Redis):
        def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
            answer = super().parse_response(connection, command_name, **options)  # type: ignore[no-untyped-call]  # untyped there
            if command_name != "BRPOP" or not answer:
                return answer
            key, said = answer
            passed = door.passed(key.split(_PRIORITY)[0].decode("utf-8", "replace"), said)
            return None if passed is None else (key, passed)

    class Channel(base.Channel):
        def _get_client(self) -> Any:
            return Client

        def _brpop_start(self, timeout: float | None = None) -> None:
            if not door.is_shut():  # else it is asked again at the loop's next turn
                super()._brpop_start(timeout)

        def _receive_one(self, subscribed: Any) -> Any:
            """Remote control is no delivery: what cannot be read of it is said and forgotten."""
            try:
                return super()._receive_one(subscribed)
            except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as fault:
                emit(Moment.TROUBLE, code="unfit_control", what=type(fault).__name__)
                raise Empty from fault

    return type("Transport", (base,), {"Channel": Channel})
