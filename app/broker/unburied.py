"""Messages that wait to be buried while Postgres does not answer: a list of their own in Redis."""

from __future__ import annotations

import json

from app.broker.redis import Broker
from app.domain.dead_letter import LetterCause

KEY = "fencepost:unburied"
_LOCK = "fencepost:burying"
_LOCKED_FOR = "30000"  #: milliseconds; longer than one burial can take


class Unburied(Broker):
    """The list, from a worker that puts aside or buries; RedisUnreachable when it cannot."""

    def put(self, queue: str, cause: LetterCause, message: bytes) -> None:
        """Put a message aside."""
        self._ask("LPUSH", KEY, json.dumps([queue, cause]).encode() + b"\n" + message)

    def may_bury(self, name: str) -> bool:
        """Whether this worker alone may bury now; two at once would leave two letters of one."""
        return self._ask("SET", _LOCK, name, "NX", "PX", _LOCKED_FOR) is not None

    def done(self) -> None:
        """Let others bury."""
        self._ask("DEL", _LOCK)

    def oldest(self) -> bytes | None:
        """What was put aside first, as it lies there."""
        lying = self._ask("LINDEX", KEY, "-1")
        return lying if isinstance(lying, bytes) else None

    def remove(self, lying: bytes) -> None:
        """Forget one entry that is buried."""
        self._ask("LREM", KEY, "-1", lying)


def taken_apart(lying: bytes) -> tuple[str, LetterCause, bytes]:
    """Queue, cause and message of an entry; one that is not ours is junk itself."""
    label, _, message = lying.partition(b"\n")
    try:
        queue, cause = json.loads(label)
        if isinstance(queue, str) and 0 < len(queue) <= 200 and queue.isprintable():
            return queue, LetterCause(cause), message
    except (ValueError, TypeError, RecursionError):
        pass
    return KEY, LetterCause.MALFORMED, lying
