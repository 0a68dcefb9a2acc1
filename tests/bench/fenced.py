"""Fencepost under measurement: its real dispatcher and workers, over a database of its own."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import timedelta

from bench.contender import Times
from bench.ground import TESTS, Ground
from fixtures import role
from fixtures.database import Database
from fixtures.stack import Stack
from fixtures.world import catch_up
from psycopg import Connection

from app.domain.board import Column
from app.domain.digest import Json
from app.domain.identity import WorldId
from app.domain.work_order import MOST_PARALLEL, MergeStrategy, Specification
from app.store.engine import Store, open_store
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.move import move
from app.transitions.open_world import open_world
from app.transitions.submit import submit

#: A workflow of one command: one attempt is one activity.
ONE_STEP: dict[str, Json] = {
    "v": 1, "concurrency": 1,
    "steps": [{"name": "nothing", "kind": "command", "command": ["true"], "checks": []}],
}  # fmt: skip
BASE = Base("main", "5" * 40)
#: A dispatch's receipt is the last that its transaction writes.
_TIMES = """
select extract(epoch from r.recorded_at)::float8, extract(epoch from min(c.claimed_at))::float8,
       extract(epoch from max(s.settled_at))::float8
  from fencepost.attempts a
  join fencepost.receipts r using (world_id, tick)
  join fencepost.activities y on y.world_id = a.world_id and y.attempt_id = a.attempt_id
  join fencepost.claims c on c.world_id = y.world_id and c.kind = y.kind
   and c.activity_id = y.activity_id
  join fencepost.settlements s on s.world_id = y.world_id and s.kind = y.kind
   and s.activity_id = y.activity_id
 where a.ended_at is not null
 group by a.world_id, a.attempt_id, r.recorded_at order by r.recorded_at
"""
#: An attempt is done when it has ended and nothing of it is unsettled.
_DONE = """
select count(*) from fencepost.attempts a where a.ended_at is not null and not exists (
  select 1 from fencepost.activities y left join fencepost.settlements s
      using (world_id, kind, activity_id)
   where y.world_id = a.world_id and y.attempt_id = a.attempt_id and s.activity_id is null)
"""


class Control:
    """Dispatch to settlement of commands that do nothing: no checkout, no git, no process."""

    name = "Fencepost, control path"
    lacks = "nothing of the contract; no effect outside the database is made"
    worker = "bench.noop_worker"

    def __init__(self, worlds: int = 1, dispatcher: tuple[str, ...] = role.DISPATCHER) -> None:
        self._worlds, self._dispatcher = worlds, dispatcher
        self.said: list[str] = []  #: what the last dispatcher said at its end
        self._prepared: tuple[Database, list[tuple[WorldId, str]]] | None = None

    def open(self, ground: Ground, processes: int, slots: int, tasks: int) -> Running:
        """A stack of one dispatcher and some workers, with so many tasks to dispatch."""
        if self._prepared is None or len(self._prepared[1]) < tasks:
            self._prepared = prepare(ground, self._worlds, tasks)
        template, ready = self._prepared
        return Running(
            ground, ground.database(like=template), ready, self.worker, processes, slots,
            dispatcher=self._dispatcher, said=self.said,
        )  # fmt: skip


class Whole(Control):
    """A change of a tiny repository, its branch and its request at the local forge."""

    name = "Fencepost, whole road"
    lacks = "nothing: checkout, supervised process, fenced push, pull request"
    worker = "workers"

    def open(self, ground: Ground, processes: int, slots: int, tasks: int) -> Running:
        """As above; the tasks belong to this stack's own repository."""
        return RunningWhole(ground, ground.database(), [], self.worker, processes, slots, tasks)


class Running:
    """A stack at work."""

    def __init__(
        self, ground: Ground, database: Database, ready: list[tuple[WorldId, str]], worker: str,
        processes: int, slots: int, tasks: int = 0,
        *, dispatcher: tuple[str, ...] = role.DISPATCHER, said: list[str] | None = None,
    ) -> None:  # fmt: skip
        self._said = said
        self.database = database
        self._store = open_store(database.app_url, name="bench")
        self._stack = Stack(ground.new_folder(), database, self._store, ground.redis_url)
        self._stack.settings = {"FENCEPOST_LEASE": "15", "PYTHONPATH": str(TESTS)}
        self._ready = iter(ready or self.prepare(tasks))
        self._start(dispatcher, database.app_url)
        for _ in range(processes):
            self._start((worker, "--slots", str(slots)), database.worker_url)
        self._stack.until(lambda: all(r.says("role.started") for r in self._stack.roles))

    def prepare(self, tasks: int) -> list[tuple[WorldId, str]]:
        """Tasks of this stack's own."""
        raise NotImplementedError

    def submit(self, count: int) -> float:
        """Dispatch so many, one after another, and return the seconds that it took."""
        begun = time.perf_counter()
        for _ in range(count):
            world, task = next(self._ready)
            dispatch(self._store, world, LOCAL, task, BASE)
        return time.perf_counter() - begun

    def done(self, session: Connection) -> int:
        """How many attempts are over and settled."""
        row = session.execute(_DONE).fetchone()
        assert row is not None
        return int(row[0])

    def times(self, session: Connection) -> list[Times]:
        """When each was dispatched, claimed and settled, in the order of dispatch."""
        return [Times(*row) for row in session.execute(_TIMES).fetchall()]

    def workers(self) -> list[int]:
        """The workers' process ids."""
        return [one.process.pid for one in self._stack.roles[1:]]

    def close(self) -> None:
        """End every process of it, the dispatcher as an operator would."""
        dispatcher = self._stack.roles[0]
        dispatcher.process.terminate()
        dispatcher.process.wait(20)
        if self._said is not None:
            self._said[:] = dispatcher.log.read_text("utf-8").partition("== of ")[2].splitlines()
        self._stack.close()
        self._store.close()

    def _start(self, words: tuple[str, ...], url: str) -> None:
        stack = self._stack
        environment = stack.environment(url)
        logs = stack.home / "logs"
        stack.roles.append(
            role.start(words, environment=environment, directory=stack.home, logs=logs)
        )


class RunningWhole(Running):
    """A stack whose workers do the whole work."""

    def prepare(self, tasks: int) -> list[tuple[WorldId, str]]:
        made = [self._stack.ready("date +%s%N > stamp") for _ in range(tasks)]
        self._base = made[0][1]
        catch_up(self._store, self._stack.world)
        return [(self._stack.world, task) for task, _ in made]

    def submit(self, count: int) -> float:
        begun = time.perf_counter()
        for _ in range(count):
            world, task = next(self._ready)
            dispatch(self._store, world, LOCAL, task, self._base)
        return time.perf_counter() - begun


def prepare(ground: Ground, worlds: int, tasks: int) -> tuple[Database, list[tuple[WorldId, str]]]:
    """A database with so many approved tasks, spread over worlds; it is copied for each run."""
    template = ground.database()
    with closing(open_store(template.app_url, name="bench-prepare")) as store:
        opened = [open_world(store, f"bench-{number}") for number in range(worlds)]
        ready = [ready_task(store, opened[number % worlds]) for number in range(tasks)]
        for world in opened:
            catch_up(store, world)
    return template, ready


def ready_task(store: Store, world: WorldId) -> tuple[WorldId, str]:
    """An approved task of one command; its card hangs in ready."""
    repository = add_repository(store, world, LOCAL, "bench", "/srv/bench.git")
    limit = timedelta(minutes=2)
    specification = Specification(
        "Do nothing", BASE.branch, (), ("true",), (), limit, limit, workflow=ONE_STEP,
        merge=MergeStrategy.PARALLEL, merge_bound=MOST_PARALLEL,
    )  # fmt: skip
    new = draft(store, world, LOCAL, repository.id, specification)
    submit(store, world, LOCAL, new.work_order)
    approve(store, world, LOCAL, new.work_order)
    move(store, world, LOCAL, new.task, Column.READY, "it is approved")
    return world, new.task
