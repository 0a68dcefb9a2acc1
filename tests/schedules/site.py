"""One hostile server, one database and one worker process, for many runs side by side."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from doubles.github import Remote, running
from fixtures.database import Database

from app import agents, events
from app.config import Secret
from app.domain.identity import WorldId
from app.events import Event
from app.github.account import Account
from app.github.hub import Hub
from app.store.engine import Store, open_store
from app.store.listening import Waker
from app.verify.finding import Violation
from app.verify.reading import World, snapshot
from app.verify.registry import verify
from workers import publication
from workers.keeper import Keeper
from workers.room import Disk
from workers.worker import Worker

LOGIN = "fleet-bot"  #: who we are at the server
#: How long we look for what may be there. A schedule's lags last three looks, its late requests
#: come before or after this.
SETTLE = timedelta(seconds=0.8)
LOOK_EVERY = timedelta(milliseconds=40)


@dataclass
class Site:
    """Where runs happen, each in a world and with a repository of its own."""

    door: Remote
    database: Database
    store: Store
    worker: Worker
    token: str
    folder: Path
    hearers: dict[WorldId, Any] = field(default_factory=dict)  #: by world, who hears its moments
    lock: threading.Lock = field(default_factory=threading.Lock)

    def new_worker(self) -> Worker:
        """The worker, without what it has heard of limits: as the next claim's process would be."""
        return replace(self.worker, hub=Hub(self.worker.hub.account))

    def hear(self, event: Event) -> None:
        """Pass a moment on to the run that it is of, in the thread that came to it."""
        hearer = self.hearers.get(WorldId(str(event.facts.get("world", ""))))
        if hearer is not None:
            hearer.hear(event)

    def hasten(self, world: WorldId) -> None:
        """Let every pause of a world be over; only the owner of a database can."""
        self._shift(
            "update fencepost.deliveries set not_before = clock_timestamp()"
            " where world_id = %s and not_before > clock_timestamp()", world,
        )  # fmt: skip
        self._shift(
            "update fencepost.claims set retry_at = ended"
            " where world_id = %s and retry_at > clock_timestamp()", world,
        )  # fmt: skip

    def lapse(self, world: WorldId) -> None:
        """Let every open lease of a world have run out."""
        self._shift(
            "update fencepost.claims set lease_until = clock_timestamp()"
            " where world_id = %s and ended is null and lease_until > clock_timestamp()", world,
        )  # fmt: skip

    def violations(self) -> list[str]:
        """Every law that a row breaks, as `fencepost verify` finds them."""
        found: list[str] = []
        with snapshot(self.database.app_url, self.worker.mirrors) as reading:
            worlds = [World(reading, row) for row in reading.worlds()]
            verify(
                reading, worlds,
                lambda one: found.append(str(one)) if isinstance(one, Violation) else None,
            )  # fmt: skip
        return found

    def _shift(self, statement: str, world: WorldId) -> None:
        with self.lock, self.database.as_superuser() as session:
            session.execute("set session_replication_role = replica")  # past the triggers
            session.execute(statement, [world])


@contextmanager
def site(folder: Path, database: Database, at_once: int) -> Iterator[Site]:
    """Start the server, and what a worker process consists of; `at_once`: runs side by side."""
    with ExitStack() as stack:
        enter = stack.enter_context
        door = enter(running(folder / "github"))
        token = door.add_token(login=LOGIN)
        store = enter(closing(open_store(database.app_url, name="schedules", connections=at_once)))
        mine = enter(
            closing(open_store(database.worker_url, name="worker", connections=2 * at_once))
        )
        beating = enter(closing(open_store(database.worker_url, name="keeper", connections=1)))
        home = folder / "home"
        home.mkdir()
        hub = Hub(Account(door.api, Secret("FENCEPOST_GITHUB_TOKEN", token), settle=SETTLE))
        worker = Worker(
            "w", home, mine, Keeper(beating), Waker(mine), Disk(home, 0), hub, agents.read({})
        )
        enter(mock.patch.object(publication, "_LOOK_EVERY", LOOK_EVERY))
        made = Site(door, database, store, worker, token, folder)
        events.subscribers.append(made.hear)
        stack.callback(events.subscribers.remove, made.hear)
        yield made
