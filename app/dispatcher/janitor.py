"""What has outlived its retention is cleared away, slowly and by itself.

Operation refs whose work ended long ago, and the ids of old webhook deliveries. Nothing else of the
house has a retention. All of it may be missed or done twice.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

from app.domain.errors import (
    DatabaseUnfit,
    DatabaseUnreachable,
    FencepostError,
    HostFailed,
    PushRefused,
)
from app.domain.pruning import ALARMING, Judged, Standing
from app.events import Moment, emit
from app.github.hub import Hub
from app.operations.place import Place, desk, places
from app.operations.prune import prune
from app.store.engine import Store
from app.store.views.fleet import repositories_seen
from app.transitions.hint import forget

EVERY = 3600.0  #: seconds between two rounds
FIRST = 10.0  #: seconds before the first: who starts has something better to do
MOST = 1000  #: refs that one round deletes at one remote


class Janitor:
    """One process's rounds; what it remembers is only what it has said already."""

    def __init__(
        self, store: Store, home: Path, hub: Hub, retention: timedelta | None,
        stop: threading.Event,
    ) -> None:  # fmt: skip
        self._store, self._home, self._hub = store, home, hub
        self._retention, self._stop = retention, stop
        self._said: set[tuple[str, str]] = set()

    def turn(self) -> int:
        """One round; a remote that makes trouble is said, and keeps no other from its turn."""
        done = forget(self._store)
        if self._retention is None:
            return done
        with self._store.begin() as tx:
            known = places(repositories_seen(tx))
        for place in known:
            if self._stop.is_set():
                break
            try:
                done += self._prune(place, self._retention)
            except (DatabaseUnreachable, DatabaseUnfit):
                raise  # it is everybody's: the loop tries again soon
            except FencepostError as fault:
                _trouble(place, fault.code, fault.message)
            except OSError as fault:
                _trouble(place, HostFailed.code, f"{type(fault).__name__}: {fault}")
        return done

    def _prune(self, place: Place, retention: timedelta) -> int:
        deleted, refused = 0, ""
        with desk(place, self._home, self._hub) as at:
            if at is None:
                return 0
            for one in prune(
                self._store, place, at, retention, most=MOST,
                may_go_on=lambda: not self._stop.is_set(),
            ):  # fmt: skip
                deleted += one.standing is Standing.DELETED
                refused = one.why if one.standing is Standing.REFUSED else refused
                self._say(place, one)
        if refused:
            _trouble(place, PushRefused.code, refused)
        return deleted

    def _say(self, place: Place, one: Judged) -> None:
        """An alarm, once in the life of this process."""
        named = (one.seen.ref, one.seen.sha)
        if one.standing in ALARMING and named not in self._said:
            self._said.add(named)
            emit(Moment.REF_ALARMING, repository=place.name, ref=one.seen.ref, code=one.standing,
                 what=one.why)  # fmt: skip


def _trouble(place: Place, code: str, what: str) -> None:
    emit(Moment.TROUBLE, step="prune", repository=place.name, code=code, what=what)
