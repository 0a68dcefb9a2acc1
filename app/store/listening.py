"""Waking the dispatcher: LISTEN on a connection of its own, NOTIFY coalesced.

Only a hint: the sweep alone keeps everything right.
"""

from __future__ import annotations

import contextlib
import threading

import psycopg
from sqlalchemy import func, select
from sqlalchemy.engine import make_url

from app.domain.errors import FencepostError
from app.store.engine import Store, Tx

_CHANNEL = "fencepost"


def wake(tx: Tx) -> None:
    """Wake the dispatchers when this transaction commits; for rare commands."""
    tx.execute(select(func.pg_notify(_CHANNEL, "")))


class Waker:
    """Wakes the dispatchers after commits that come often: one NOTIFY for many."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked = threading.Event()
        threading.Thread(target=self._run, name="waker", daemon=True).start()

    def wake(self) -> None:
        """Ask for a NOTIFY soon; returns at once."""
        self._asked.set()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            with contextlib.suppress(FencepostError), self._store.ask() as tx:
                wake(tx)


class Listener:
    """A connection that hears NOTIFY; without one it just waits the time out."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection: psycopg.Connection | None = None

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Return when woken, when the time is over, or when stop is set."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
                self._connection.execute(f"listen {_CHANNEL}")
                return  # what came before the LISTEN is looked for now
            for _ in self._connection.notifies(timeout=seconds, stop_after=1):
                pass
        except psycopg.Error:
            self.close()
            stop.wait(seconds)

    def close(self) -> None:
        """Give up the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
