"""A soak: a seeded die kills, freezes, flushes and restarts while attempts flow; all of them end.

Effects are counted at the forge, where each attempt has exactly one open request, and `fencepost
verify` finds every law kept. A call that was cut off before its answer is decided by a person.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest
import redis
from fixtures.database import Database
from fixtures.role import Role
from fixtures.stack import LEASE, Stack, a_repository
from redis.exceptions import RedisError
from sqlalchemy import func, select

from app.domain.board import Column
from app.domain.decision import UNRESOLVED, Decision
from app.domain.errors import FencepostError
from app.domain.identity import ActivityId, ActivityKey, Fence, Kind, WorldId
from app.domain.pull_request import RequestState
from app.domain.work_order import MOST_PARALLEL, MergeStrategy, Specification
from app.embedded import place, postgres, servers
from app.repository import mirror, source
from app.repository.requests import list_requests
from app.store import migrate
from app.store.engine import Store, open_engine, open_store
from app.store.schema import attempts
from app.store.views.unknowns import Sought, unknowns_listed
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.move import move
from app.transitions.resolve import Word, resolve
from app.transitions.submit import submit

_SEED = int(os.environ.get("FENCEPOST_SOAK_SEED", "20261129"))
Made = TypeVar("Made")


class Fleet:
    """A stack whose own servers may be broken too, and what a die can do to it."""

    def __init__(self, stack: Stack, servers_home: Path, seed: int) -> None:
        self.stack, self._servers = stack, servers_home
        self._die = random.Random(seed)
        self.dispatchers: list[Role] = []
        self.workers: list[Role] = []
        self.rolled: Counter[str] = Counter()

    def start(self, workers: int) -> None:
        """Two dispatchers, and so many workers."""
        self.dispatchers = [self.stack.start_dispatcher() for _ in range(2)]
        self.workers = [self.stack.start_worker() for _ in range(workers)]

    def roll(self) -> None:
        """Let one thing go wrong; whoever was killed is started again, as a parent would."""
        self._revive()
        wrongs: list[Callable[[], None]] = [
            self.kill_worker, self.kill_worker, self.kill_dispatcher, self.freeze_worker,
            self.cut_redis, self.flush_redis,
        ]  # fmt: skip
        wrong = self._die.choice(wrongs)
        self.rolled[wrong.__name__] += 1
        wrong()

    def kill_worker(self) -> None:
        """SIGKILL."""
        number = self._die.randrange(len(self.workers))
        self.workers[number].kill()
        self.workers[number] = self.stack.start_worker()

    def kill_dispatcher(self) -> None:
        """SIGKILL."""
        number = self._die.randrange(len(self.dispatchers))
        self.dispatchers[number].kill()
        self.dispatchers[number] = self.stack.start_dispatcher()

    def freeze_worker(self) -> None:
        """SIGSTOP until it has outlived its leases; then it wakes up as a zombie."""
        frozen = self._die.choice(self.workers)
        frozen.stop()
        thaw = threading.Timer(LEASE.total_seconds() * 1.5, frozen.go_on)
        thaw.daemon = True
        thaw.start()

    def cut_redis(self) -> None:
        """Every connection at once."""
        self._ask("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "yes")

    def flush_redis(self) -> None:
        """FLUSHALL."""
        self._ask("FLUSHALL")

    def restart_postgres(self) -> None:
        """Every transaction under way is lost."""
        self.rolled["restart_postgres"] += 1
        postgres.stop(place.locate(self._servers))
        servers.start(self._servers)

    def until_over(self, count: int) -> None:
        """Wait until so many attempts have ended; decide what is held, start what ended itself."""

        def is_over() -> bool:
            self._decide()
            self._revive()
            return over(self.stack.store) >= count

        self.stack.until(is_over, 300)

    def _revive(self) -> None:
        """Start again what found no server when it started, as a parent would."""
        for number, one in enumerate(self.dispatchers):
            if not one.is_alive:
                self.dispatchers[number] = self.stack.start_dispatcher()
        for number, one in enumerate(self.workers):
            if not one.is_alive:
                self.workers[number] = self.stack.start_worker()

    def _decide(self) -> None:
        """A person's part: where no answer came, and nobody calls any more, nothing is there."""
        with suppress(FencepostError):
            with self.stack.store.begin() as tx:
                held = unknowns_listed(tx, Sought())
            for one in held:
                unsure = one.code == UNRESOLVED
                said = Decision.ATTEST_ABSENCE if unsure else Decision.LOOK_AGAIN
                key = ActivityKey(WorldId(one.world), Kind(one.kind), ActivityId(one.activity))
                resolve(self.stack.store, LOCAL, key, Fence(one.fence), Word(said, "looked myself"))
                self.rolled[f"decided {one.code}"] += 1

    def _ask(self, *command: str) -> None:
        with closing(redis.Redis.from_url(self.stack.redis_url)) as client, suppress(RedisError):
            client.execute_command(*command)  # type: ignore[no-untyped-call]  # untyped there


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A fleet on servers of its own; afterwards nothing is left of it."""
    home = tmp_path / "servers"
    home.mkdir()
    found = servers.start(home)
    try:
        database = Database(found.owner_url, found.app_url, found.worker_url, found.superuser_url)
        owner = open_engine(found.owner_url, name="test-owner")
        migrate.upgrade(owner)
        owner.dispose()
        with closing(open_store(found.app_url, name="test-soak")) as store:
            stack = Stack(tmp_path, database, store, found.redis_url)
            yield Fleet(stack, home, _SEED)
            stack.close()
    finally:
        servers.destroy(home)


@pytest.mark.contract("Q06", "Q11", "L3", "L4", "L5")
@pytest.mark.parametrize(
    ("size", "workers", "every"),
    [
        pytest.param(40, 2, 5, id="short", marks=pytest.mark.timeout(300)),
        pytest.param(2000, 4, 40, id="long", marks=[pytest.mark.long, pytest.mark.timeout(3000)]),
    ],
)
def test_whatever_dies_every_attempt_ends_with_one_request(
    fleet: Fleet, size: int, workers: int, every: int
) -> None:
    """Nothing is lost, nothing is doubled, and what is written down keeps every law."""
    bases = [a_base(fleet.stack, number) for number in range(4)]
    fleet.start(workers)
    feeding = threading.Thread(target=feed, args=(fleet.stack, bases, size), daemon=True)
    feeding.start()

    for ended in range(every, size, every):
        fleet.until_over(ended)
        if ended == size // 2 // every * every:
            fleet.restart_postgres()
        else:
            fleet.roll()
    feeding.join(60)
    fleet.until_over(size)

    assert outcomes(fleet.stack.store) == {"done": size}, fleet.rolled
    assert open_requests(fleet.stack) == {f"Add file {n}": 1 for n in range(size)}, fleet.rolled
    assert fleet.rolled["restart_postgres"] == 1
    assert fleet.stack.violations() == []


def a_base(stack: Stack, number: int) -> tuple[str, Base]:
    """A repository of the world, and the base of its mirror."""
    path = a_repository(stack.home.parent / f"source-{number}", {"a.py": "x = 1\n"})
    found = source.inspect(str(path), None)
    known = add_repository(stack.store, stack.world, LOCAL, f"source-{number}", found.url)
    opened = mirror.open_mirror(stack.home / "forge", known.id)
    return known.id, Base(mirror.base_branch(found), mirror.refresh(opened, found))


def feed(stack: Stack, bases: list[tuple[str, Base]], size: int) -> None:
    """Dispatch so many attempts; a database that is away is asked again, under the same key."""
    for number in range(size):
        repository, base = bases[number % len(bases)]
        step_by_step(stack, repository, base, number)


def step_by_step(stack: Stack, repository: str, base: Base, number: int) -> None:
    """One work order from its draft to its dispatch; each verb once, however often it is asked."""
    limit, world, store = timedelta(minutes=5), stack.world, stack.store
    work = Specification(
        f"Add file {number}", base.branch, (), ("sh", "-c", f"echo {number} > f{number}.py"), (),
        limit, limit, merge=MergeStrategy.PARALLEL, merge_bound=MOST_PARALLEL,
    )  # fmt: skip
    new = again(lambda: draft(store, world, LOCAL, repository, work, key=f"draft-{number}"))
    order, task = new.work_order, new.task
    again(lambda: submit(store, world, LOCAL, order, key=f"submit-{number}"))
    again(lambda: approve(store, world, LOCAL, order, key=f"approve-{number}"))
    ready = Column.READY
    again(lambda: move(store, world, LOCAL, task, ready, "it is approved", key=f"move-{number}"))
    again(lambda: dispatch(store, world, LOCAL, task, base, key=f"dispatch-{number}"))


def again(act: Callable[[], Made]) -> Made:
    """Ask until the database answers."""
    while True:
        with suppress(FencepostError):
            return act()


def over(store: Store) -> int:
    """How many attempts have ended; those of a database that is away are not known."""
    return sum(outcomes(store).values())


def outcomes(store: Store) -> dict[str, int]:
    """How the attempts have ended."""
    with suppress(FencepostError), store.begin() as tx:
        rows = tx.execute(
            select(attempts.c.outcome, func.count()).where(attempts.c.ended_at.is_not(None))
            .group_by(attempts.c.outcome)
        )  # fmt: skip
        return {row[0]: row[1] for row in rows}
    return {}


def open_requests(stack: Stack) -> dict[str, int]:
    """Title → how many requests of it are open; read at the forge."""
    return Counter(
        request.title
        for folder in (stack.home / "forge").glob("*.git")
        for request in list_requests(mirror.Mirror(folder))
        if request.state is RequestState.OPEN
    )
