"""Open requests at GitHub that somebody waits for are looked at (O08); a look is a hint's truth.

The looks are conditional, so that no news cost nothing, and outside of every transaction.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence

from app.dispatcher.loop import each
from app.domain.errors import NotFound
from app.domain.identity import WorldId
from app.domain.pull_request import ForgeLimited, RequestState
from app.github import requests
from app.github.address import FORGE
from app.github.hub import Hub
from app.store import board, bounds
from app.store.bounds import Awaited
from app.store.engine import Store
from app.transitions.observe_requests import RequestSeen, observe_requests

#: Seconds between two looks at one request; every page that shows it may be older than that.
EVERY = 5.0


class Watcher:
    """One process's looks; what GitHub said to wait for is heeded, and may be forgotten."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store, self._hub = store, hub
        self._not_before = 0.0

    def turn(self) -> int:
        """Take in every awaited request that was merged or closed."""
        if time.monotonic() < self._not_before:
            return 0
        with self._store.begin() as tx:
            awaited = bounds.awaited(tx)
            together: dict[tuple[WorldId, str], list[Awaited]] = defaultdict(list)
            for one in awaited:
                known = board.repository(tx, one.world, one.repository)
                if known.forge == FORGE:
                    together[one.world, known.url].append(one)
        try:
            return each(together.items(), lambda item: self._look(item[0][1], item[1]))
        except ForgeLimited as fault:
            self._not_before = time.monotonic() + fault.wait.total_seconds()
            raise

    def _look(self, url: str, awaited: Sequence[Awaited]) -> int:
        at = self._hub.repository(url)
        seen = {}
        for one in awaited:
            try:
                known = requests.request(at, one.request)
            except NotFound:
                continue  # a person hid or moved it: it stays open until it is seen again
            is_open = known.state is RequestState.OPEN
            base = None if is_open else requests.tip(at, one.base)
            seen[one.attempt] = RequestSeen(known.state, base)
        return observe_requests(self._store, awaited[0].world, seen)
