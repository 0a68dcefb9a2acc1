"""The keeper: one thread that renews every lease of this process and passes on what was asked.

One statement a beat, whatever the number of claims; the shortest heartbeat sets the pace. Claims
that are new are renewed at once, all of them by one statement too, and work waits for that (T08).
Best effort: no safety rests on it. A claim whose lease was not renewed in time by this host's own
clock counts as lost here, whatever the database would still say.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from app.domain.errors import ClaimNotLive, FencepostError
from app.domain.identity import Claim
from app.domain.recovery import Stop
from app.events import Moment, emit
from app.store.engine import Store
from app.transitions.renew import renew

AGAIN = 1.0  #: seconds until a renewal that failed is tried again, if that is sooner than a beat


class Held:
    """A claim that this process holds, and whether it still may act on it."""

    def __init__(self, claim: Claim, lease: timedelta, heartbeat: timedelta) -> None:
        self.claim = claim
        self.lease = lease
        self.heartbeat = heartbeat
        self.interrupt = threading.Event()  #: whatever runs must end, for any of the reasons below
        self.leave = threading.Event()  #: the lease is lost, or the work is handed back
        self.is_lost = False
        self.stop: Stop | None = None
        self.renewed_at = boot_time()
        self.is_new = True  #: no renewal was answered yet
        self._answered = threading.Event()

    def await_renewal(self) -> None:
        """Return once the first renewal was answered; ClaimNotLive unless it came in time."""
        if not self._answered.wait(self.lease.total_seconds()) or self.is_lost:
            raise ClaimNotLive("the lease ran out before its first renewal")

    def renewed(self, at: float) -> None:
        """The database prolonged the lease, no earlier than at this time."""
        self.renewed_at, self.is_new = at, False
        self._answered.set()

    def lose(self) -> None:
        """The lease is gone: whatever runs must end."""
        self.is_lost = True
        self.hand_back()
        self._answered.set()

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
    """Renews the leases of one process, and knows whether it takes and starts anything more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[tuple[object, int], Held] = {}
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._due = float("inf")  #: when the next beat is, by the clock of `boot_time`
        self.is_draining = False  #: nothing new is begun here; what runs may end
        self.is_leaving = False  #: what runs is handed back
        threading.Thread(target=self._run, name="keeper", daemon=True).start()

    @contextmanager
    def holding(self, claim: Claim, lease: timedelta, heartbeat: timedelta) -> Iterator[Held]:
        """Keep a claim's lease alive while the inside runs."""
        held, key = Held(claim, lease, heartbeat), (claim.key, claim.fence)
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

    def drain(self) -> None:
        """Begin nothing new; what runs goes on."""
        self.is_draining = True

    def hand_back(self) -> None:
        """End whatever runs here, release its claims, and take no more."""
        self.is_draining = self.is_leaving = True
        with self._lock:
            held = list(self._held.values())
        for one in held:
            one.hand_back()

    def _run(self) -> None:
        while True:
            with self._lock:
                held = list(self._held.values())
            if not held:
                self._due = float("inf")
                self._changed.wait()
            else:
                self._renew_what_is_due(held)
                self._changed.wait(max(self._due - boot_time(), 0.0))
            self._changed.clear()

    def _renew_what_is_due(self, held: list[Held]) -> None:
        """On the beat all of them, in between those that are new."""
        now = boot_time()
        beat = min(one.heartbeat for one in held).total_seconds()
        self._due = min(self._due, now + beat)
        if now >= self._due:
            self._due = now + (beat if self._renew(held) else min(beat, AGAIN))
        elif (new := [one for one in held if one.is_new]) and not self._renew(new):
            self._due = min(self._due, now + AGAIN)

    def _renew(self, held: list[Held]) -> bool:
        """Whether the database answered, whatever its answer."""
        asked_at = boot_time()
        try:
            renewed = {(r.key, r.fence): r for r in renew(self._store, [h.claim for h in held])}
        except FencepostError as fault:
            emit(Moment.TROUBLE, what=f"renewal failed: {fault.message}", code=fault.code)
            for one in held:
                if boot_time() - one.renewed_at > one.lease.total_seconds():
                    self._lost(one)
            return False
        for one in held:
            answer = renewed.get((one.claim.key, one.claim.fence))
            if answer is not None:
                one.heed(answer.stop)  # first: whoever waits for the renewal begins by it
                one.renewed(asked_at)
            else:
                self._lost(one)
        return True

    def _lost(self, held: Held) -> None:
        with self._lock:
            is_held = (held.claim.key, held.claim.fence) in self._held
        if is_held and not held.is_lost:
            held.lose()
            emit(Moment.LOST, **held.claim.facts(), code="not_renewed")


def boot_time() -> float:
    """Seconds since boot, suspension included, so that a sleeping host does not stretch a lease."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
