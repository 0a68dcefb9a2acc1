"""Burying what came out of a queue and is no delivery, beside the work and never in its way (Q04).

A message is buried in Postgres at once. While that fails it is put aside in Redis, where any
worker finds it later; while that fails too it is held here, and both are tried again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from queue import Empty, Queue

from app import secrecy
from app.broker.unburied import Unburied, taken_apart
from app.domain.dead_letter import LetterCause
from app.domain.errors import FencepostError, RedisUnreachable
from app.events import Moment, emit
from app.store.engine import Store
from app.transitions.bury import bury

SWEEP = 2.0  #: seconds between looks for what was put aside
_HELD = 64  #: messages; when so many can be put nowhere, no more are read
_BATCH = 100
_LARGEST = 64 * 1024 * 1024  #: bytes; of a larger one the rest is not even counted


@dataclass(frozen=True, slots=True)
class Remains:
    """A message to bury."""

    queue: str
    cause: LetterCause
    message: bytes


class Undertaker:
    """One thread of a worker that buries, so that no slot has to."""

    def __init__(self, store: Store, unburied: Unburied, name: str) -> None:
        self._store, self._unburied, self._name = store, unburied, name
        self._brought: Queue[Remains | None] = Queue(_HELD)
        self._thread = threading.Thread(target=self._run, name="undertaker", daemon=True)
        self._thread.start()

    def bring(self, queue: str, cause: LetterCause, message: bytes) -> None:
        """Hand over a message; waits only when many can be put nowhere."""
        self._brought.put(Remains(queue, cause, message[:_LARGEST]))

    @property
    def is_full(self) -> bool:
        """Whether this worker reads no more until something is buried or put aside."""
        return self._brought.full()

    def close(self, patience: float) -> None:
        """Bury or put aside what was brought; what cannot be within the time is said."""
        self._brought.put(None)
        self._thread.join(patience)
        if self._thread.is_alive():
            emit(Moment.TROUBLE, code="unburied", what=f"{self._brought.qsize()} messages are lost")

    def _run(self) -> None:
        while True:
            try:
                remains = self._brought.get(timeout=SWEEP)
            except Empty:
                self._bury_what_was_put_aside()
                continue
            if remains is None:
                return
            self._keep(remains)

    def _keep(self, remains: Remains) -> None:
        """Bury it or put it aside, without secrets; it is not let go before."""
        remains = replace(remains, message=secrecy.redacted_bytes(remains.message))
        while True:
            try:
                bury(self._store, remains.queue, remains.cause, remains.message)
                return
            except FencepostError as fault:
                _tell(fault, "message not buried yet")
            try:
                self._unburied.put(remains.queue, remains.cause, remains.message)
                return
            except RedisUnreachable as fault:
                _tell(fault, "message not put aside either")
            threading.Event().wait(1.0)

    def _bury_what_was_put_aside(self) -> None:
        try:
            if self._unburied.oldest() is None or not self._unburied.may_bury(self._name):
                return
            for _ in range(_BATCH):
                lying = self._unburied.oldest()
                if lying is None:
                    break
                bury(self._store, *taken_apart(lying))
                self._unburied.remove(lying)
            self._unburied.done()
        except FencepostError as fault:
            _tell(fault, "what was put aside stays there")


def _tell(fault: FencepostError, what: str) -> None:
    emit(Moment.TROUBLE, code=fault.code, what=f"{what}: {fault.message}")
