"""Beginning what a list asks for: each once, whoever asked for it before."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from app.cli.base import started_from
from app.cli.order import hand_in
from app.cli.progress import Say
from app.cli.repos.entry import Entry, Standing
from app.cli.repos.pool import Pool
from app.cli.repos.reading import AT_ONCE
from app.domain.board import AttemptOutcome, Column
from app.domain.errors import (
    ActiveAttempt,
    CanonicalChildExists,
    IdempotencyConflict,
    NotLatestAttempt,
    PriorAttempt,
    ProviderError,
    Refused,
    WorldFull,
)
from app.domain.identity import WorldId
from app.store.engine import Store
from app.store.views.many import Begun, begun
from app.transitions.add_child import add_child
from app.transitions.add_repository import add_repository
from app.transitions.dispatch import Base, dispatch
from app.transitions.move import move
from app.transitions.retry import retry

_TURN = 0.25  #: seconds of one turn, so that the table goes on
_ASK_AGAIN = 1.0  #: seconds until a full world is asked again

_SOMEBODY_WAS_FASTER = (
    IdempotencyConflict, NotLatestAttempt, CanonicalChildExists, ActiveAttempt, PriorAttempt,
)  # fmt: skip


class Beginning:
    """Begins every entry that has not begun: fetches a few at once, dispatches one at a time.

    Every verb carries a key that the entry's own key begins with, so nothing happens twice, however
    often and by however many it is asked for; what was broken off goes on where it was.
    """

    def __init__(
        self, store: Store, home: Path, world: WorldId, actor: str, say: Say, again: str | None
    ) -> None:
        self._store, self._home, self._say = store, home, say
        self.world, self.actor = world, actor
        self._again = again  #: why what ended badly is begun anew; None: it is not
        self._to_fetch: deque[Entry] = deque()
        self._to_dispatch: deque[tuple[Entry, Base]] = deque()
        self._pool: Pool[Entry, Base] = Pool(self._fetch, AT_ONCE)
        self._not_before = 0.0
        self._is_stopped = False

    @property
    def is_over(self) -> bool:
        """Nothing is left to begin."""
        return not (self._to_fetch or self._to_dispatch or self._pool.pending)

    def take(self, entries: Iterable[Entry]) -> None:
        """See what an earlier run made of each, and begin the others in the coming turns."""
        wanted = [entry for entry in entries if entry.order is not None]
        found = self._known(*wanted)
        for entry in wanted:
            if (known := found.get(entry.key)) is not None:
                entry.remember(known)
            if entry.standing is Standing.TO_COME or (self._again is not None and entry.is_bad):
                entry.standing = Standing.TO_COME
                self._to_fetch.append(entry)

    def turn(self) -> None:
        """Bring some of it on; what is refused is said of its entry, and does not stop the rest."""
        until = time.monotonic() + _TURN
        while self._to_fetch and self._has_room() and time.monotonic() < until:
            self._give(self._to_fetch[0])
            self._to_fetch.popleft()  # only now: the database may have gone away meanwhile
        for entry, came in self._pool.take():
            self._fetched(entry, came)
        while self._to_dispatch and self._not_before < time.monotonic() < until:
            if not self._dispatched(*self._to_dispatch[0]):
                return
            self._to_dispatch.popleft()

    def stop(self) -> None:
        """Begin nothing more; what is fetched now is fetched for the next run."""
        self._is_stopped = True
        for entry in (*self._to_fetch, *(entry for entry, _ in self._to_dispatch)):
            entry.leave_out()
        self._to_fetch.clear()
        self._to_dispatch.clear()

    def _has_room(self) -> bool:
        return self._pool.pending + len(self._to_dispatch) < 2 * AT_ONCE

    def _give(self, entry: Entry) -> None:
        source = entry.asked.source
        try:
            known = add_repository(
                self._store, self.world, self.actor, source.name, source.url, source.forge
            )
        except Refused as fault:
            return entry.refuse(fault, by_a_rule=True)
        entry.standing, entry.repository = Standing.FETCHING, known.id
        return self._pool.give(entry)

    def _fetch(self, entry: Entry) -> Base:
        """In a thread of the pool; it speaks to git alone."""
        return started_from(self._home, entry.repository, entry.asked.source)

    def _fetched(self, entry: Entry, came: Base | Exception) -> None:
        match came:
            case Base() if self._is_stopped:
                entry.leave_out()
            case Base():
                entry.standing = Standing.TO_COME
                self._to_dispatch.append((entry, came))
            case Refused() | ProviderError():
                entry.refuse(came, by_a_rule=isinstance(came, Refused))
            case _:
                raise came

    def _dispatched(self, entry: Entry, base: Base) -> bool:
        """Whether it is settled what becomes of it; not while the world is full."""
        try:
            entry.attempt = self._attempt(entry, base)
        except WorldFull as fault:
            if entry.standing is not Standing.HELD:
                self._say(f"{fault.message}; the rest follows as there is room", code=fault.code)
            for held, _ in self._to_dispatch:
                held.hold(fault)
            self._not_before = time.monotonic() + _ASK_AGAIN
            return False
        except (Refused, ProviderError) as fault:
            entry.refuse(fault, by_a_rule=isinstance(fault, Refused))
        else:
            entry.standing, entry.before = Standing.QUEUED, False
            entry.code, entry.detail, entry.hint = None, "", ""
        return True

    def _attempt(self, entry: Entry, base: Base) -> str:
        """The attempt that stands for the entry from now on."""
        try:
            match entry.outcome:
                case None:
                    return self._first(entry, base)
                case AttemptOutcome.FAILED | AttemptOutcome.DEAD:
                    return self._retried(entry, base)
                case _:
                    return self._child(entry, base)
        except _SOMEBODY_WAS_FASTER:
            found = self._known(entry).get(entry.key)
            if found is None or found.attempt in (None, entry.attempt):
                raise
            entry.task = found.task
            return str(found.attempt)

    def _first(self, entry: Entry, base: Base) -> str:
        if entry.is_first:
            entry.task = hand_in(
                self._store, self.world, self.actor, entry.repository,
                entry.asked.specification, key=entry.key,
            )  # fmt: skip
        else:
            self._make_ready(entry, str(entry.task))
        return self._dispatch(entry, str(entry.task), base)

    def _retried(self, entry: Entry, base: Base) -> str:
        return retry(
            self._store, self.world, self.actor, str(entry.task), base, str(self._again),
            attempt=entry.attempt, key=f"{entry.key}/{entry.attempt}/retry",
        )  # fmt: skip

    def _child(self, entry: Entry, base: Base) -> str:
        """What a person ended is taken up as a task of its own, of the same work order (T03)."""
        child = add_child(
            self._store, self.world, self.actor, str(entry.task), None, self._again,
            canonical=True, key=f"{entry.key}/{entry.attempt}/child",
        )  # fmt: skip
        self._make_ready(entry, child)
        attempt = self._dispatch(entry, child, base)
        entry.task = child
        return attempt

    def _make_ready(self, entry: Entry, task: str) -> None:
        with suppress(IdempotencyConflict):  # somebody else did just this
            move(
                self._store, self.world, self.actor, task, Column.READY,
                "taken up again at the command line", key=f"{entry.key}/{task}/move",
            )  # fmt: skip

    def _dispatch(self, entry: Entry, task: str, base: Base) -> str:
        key = f"{entry.key}/{task}/dispatch"
        return dispatch(self._store, self.world, self.actor, task, base, key=key)

    def _known(self, *entries: Entry) -> dict[str, Begun]:
        with self._store.begin() as tx:
            found = begun(tx, self.world, [f"{entry.key}/draft" for entry in entries])
        return {key.removesuffix("/draft"): one for key, one in found.items()}
