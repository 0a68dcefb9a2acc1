"""The keeper: one thread that renews every lease of this process and passes on what was asked.

Best effort: no safety rests on it. A claim whose lease was not renewed in time by this host's own
clock counts as lost here, whatever the database would still say.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from app.domain.errors import FencepostError
from app.domain.identity import Claim
from app.domain.recovery import Stop
from app.events import Moment, emit
from app.store.engine import Store
from app.transitions.renew import renew

#: Renewals per lease; T08 asks for at least three.
BEATS = 3.75


class Held:
    """A claim that this process holds, and whether it still may act on it."""

    def __init__(self, claim: Claim, lease: timedelta) -> None:
        self.claim = claim
        self.lease = lease
        self.interrupt = threading.Event()  #: whatever runs must end, for any of the reasons below
        self.leave = threading.Event()  #: the lease is lost, or the work is handed back
        self.is_lost = False
        self.stop: Stop | None = None
        self.renewed_at = boot_time()

    def lose(self) -> None:
        """The lease is gone: whatever runs must end."""
        self.is_lost = True
        self.hand_back()

    def hand_back(self) -> None:
        """Another worker shall have it: whatever runs must end, and the claim be released."""
        self.leave.set()
        self.interrupt.set()

    def heed(self, stop: Stop | None) -> None:
        """A stop was asked for: whatever runs must end."""
        if stop is not None and self.stop is None:
            self.stop = stop
            self.interrupt.set()


class Keeper:
    """Renews the leases of one process by one statement a beat."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[tuple[object, int], Held] = {}
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self.is_leaving = False  #: this process takes no more work
        threading.Thread(target=self._beat, name="keeper", daemon=True).start()

    @contextmanager
    def holding(self, claim: Claim, lease: timedelta) -> Iterator[Held]:
        """Keep a claim's lease alive while the inside runs."""
        held, key = Held(claim, lease), (claim.key, claim.fence)
        with self._lock:
            self._held[key] = held
        if self.is_leaving:
            held.hand_back()
        self._changed.set()
        try:
            yield held
        finally:
            with self._lock:
                del self._held[key]

    def hand_back(self) -> None:
        """End whatever runs here, release its claims, and take no more."""
        self.is_leaving = True
        with self._lock:
            held = list(self._held.values())
        for one in held:
            one.hand_back()

    def _beat(self) -> None:
        while True:
            with self._lock:
                held = list(self._held.values())
            if not held:
                self._changed.wait()
                self._changed.clear()
                continue
            self._renew(held)
            self._changed.wait(min(h.lease for h in held).total_seconds() / BEATS)
            self._changed.clear()

    def _renew(self, held: list[Held]) -> None:
        asked_at = boot_time()
        try:
            renewed = {(r.key, r.fence): r for r in renew(self._store, [h.claim for h in held])}
        except FencepostError as fault:
            emit(Moment.TROUBLE, what=f"renewal failed: {fault.message}", code=fault.code)
            for one in held:
                if boot_time() - one.renewed_at > one.lease.total_seconds():
                    self._lost(one)
            return
        for one in held:
            answer = renewed.get((one.claim.key, one.claim.fence))
            if answer is not None:
                one.renewed_at = asked_at
                one.heed(answer.stop)
            else:
                self._lost(one)

    def _lost(self, held: Held) -> None:
        with self._lock:
            is_held = (held.claim.key, held.claim.fence) in self._held
        if is_held and not held.is_lost:
            held.lose()
            emit(Moment.LOST, **held.claim.facts())


def boot_time() -> float:
    """Seconds since boot, suspension included, so that a sleeping host does not stretch a lease."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
