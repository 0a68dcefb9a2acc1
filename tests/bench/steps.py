"""What each step of the road costs: milliseconds, statements and commits an attempt.

One thread walks the real transitions, so nothing waits for anything but Postgres and Redis.
From the folder `tests`: `../.venv/bin/python -m bench.steps [--count 200] [--profile STEP]`
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from bench.fenced import BASE, prepare
from bench.ground import Ground, ground, machine
from bench.noop_worker import NOTHING
from bench.table import show
from fixtures.database import Database
from sqlalchemy import event

from app.broker.publisher import Publisher
from app.broker.redis import Broker
from app.broker.topology import celery_app
from app.dispatcher import projector, reaper, relay, stager, ticker
from app.domain.identity import ActivityId, ActivityKey, Claim, DeliveryNumber, Kind, WorldId
from app.kinds import command
from app.store import activities, installation, limits
from app.store.engine import Store, open_store
from app.store.limits import What
from app.transitions.change import LOCAL
from app.transitions.claim import claim
from app.transitions.dispatch import dispatch
from app.transitions.record import record
from app.transitions.renew import renew

_ADMITTED = "select world_id, kind, activity_id from fencepost.activities order by admitted_at"


@dataclass(frozen=True, slots=True)
class Step:
    """What one step costs an attempt."""

    name: str
    milliseconds: float
    processor: float  #: milliseconds of this process; the database's are not among them
    statements: float
    commits: float

    @property
    def is_aside(self) -> bool:
        """Whether it is no part of each attempt's road."""
        return "," in self.name


@dataclass(slots=True)
class Counts:
    """What the stores were asked."""

    statements: int = 0
    commits: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.steps", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--profile", help="a step, to be shown by function")
    told = parser.parse_args()
    with ground() as here:
        print(machine(here.server))
        report(walk(here, told.count, told.worlds, profiled=told.profile))


def total(steps: Sequence[Step]) -> float:
    """Milliseconds of one attempt's road."""
    return sum(step.milliseconds for step in steps if not step.is_aside)


def report(steps: Sequence[Step]) -> None:
    """Print them as a table."""
    whole = total(steps)
    show(
        ("step", "ms an attempt", "share", "of it here", "statements", "commits"),
        [
            (one.name, f"{one.milliseconds:.2f}",
             "" if one.is_aside else f"{one.milliseconds / whole:.0%}",
             f"{one.processor:.2f}", f"{one.statements:.2f}", f"{one.commits:.2f}")
            for one in steps
        ],
    )  # fmt: skip
    print(f"\nall in one thread: {whole:.1f} ms an attempt, {1000 / whole:.0f} a second")


def walk(
    here: Ground, count: int, worlds: int, *, limited: bool = False, profiled: str | None = None
) -> list[Step]:
    """Take all attempts through each step, before any goes on to the next."""
    steps: list[Step] = []
    database, ready = prepare(here, worlds, count)
    with (
        closing(open_store(database.app_url, name="bench")) as control,
        closing(open_store(database.worker_url, name="bench-worker")) as worker,
    ):
        counts = Counts()
        for store in (control, worker):
            _count(store, counts)
        claims: list[Claim] = []
        broker = Broker(here.redis_url, role="bench")
        publisher = Publisher(celery_app(here.redis_url, role="bench"))
        with control.begin() as tx:
            named = installation.name(tx)

        def measured(name: str, step: Callable[[], object]) -> None:
            with _profile(name == profiled):
                statements, commits, begun = counts.statements, counts.commits, time.perf_counter()
                worked = time.process_time()
                step()
                spent = (time.perf_counter() - begun) / count * 1000
                worked = (time.process_time() - worked) / count * 1000
            asked, done = counts.statements - statements, counts.commits - commits
            steps.append(Step(name, spent, worked, asked / count, done / count))

        def dispatched() -> None:
            for world, task in ready:
                dispatch(control, world, LOCAL, task, BASE)

        def claimed() -> None:
            for key in keys(database):
                taken = claim(worker, key, DeliveryNumber(1), "bench")
                assert isinstance(taken, Claim), taken
                with worker.begin() as tx:
                    activities.get(tx, key)
                claims.append(taken)

        def recorded() -> None:
            for held in claims:
                record(worker, held, NOTHING)

        _decide(control, [world for world, _ in ready], count, limited=limited)
        _all(lambda: projector.turn(control, None))
        measured("dispatch", dispatched)
        measured("project", lambda: _all(lambda: projector.turn(control, None)))
        measured("relay", lambda: _all(lambda: relay.turn(control, broker, publisher, named)))
        measured("claim", claimed)
        measured("renew, alone", lambda: [renew(worker, [held]) for held in claims])
        measured("renew, together", lambda: renew(worker, claims))
        measured("record", recorded)
        measured("stage", lambda: _all(lambda: stager.turn(control)))
        measured("tick", lambda: _all(lambda: ticker.turn(control)))
        measured("settle", lambda: _all(lambda: projector.turn(control, None)))
        measured("reap, idle", lambda: [reaper.turn(control) for _ in range(count)])
    return steps


def _decide(store: Store, worlds: Sequence[WorldId], count: int, *, limited: bool) -> None:
    """Let all be sent at once; limited: also by limits of every sort, none of which is reached."""
    with store.begin() as tx:
        limits.decide(tx, What.WINDOW, count, LOCAL, "measuring", queue=command.NAME)
        if limited:
            limits.decide(tx, What.RUNNING, 100_000, LOCAL, "measuring")
            limits.decide(tx, What.RUNNING, 100_000, LOCAL, "measuring", queue=command.NAME)
            limits.decide(tx, What.WAITING, 100_000, LOCAL, "measuring")
            for world in dict.fromkeys(worlds):
                limits.decide(tx, What.WAITING, 50_000, LOCAL, "measuring", world=world)


def _all(turn: Callable[[], int]) -> None:
    while turn():
        pass


def keys(database: Database) -> list[ActivityKey]:
    """Every admitted activity; its first delivery has number 1."""
    with database.as_superuser() as session:
        rows = session.execute(_ADMITTED).fetchall()
    return [ActivityKey(WorldId(row[0]), Kind(row[1]), ActivityId(row[2])) for row in rows]


def _count(store: Store, counts: Counts) -> None:
    def asked(*_: object) -> None:
        counts.statements += 1

    def committed(*_: object) -> None:
        counts.commits += 1

    event.listen(store.engine, "before_cursor_execute", asked)
    event.listen(store.engine, "commit", committed)


@contextmanager
def _profile(wanted: bool) -> Iterator[None]:
    profile = cProfile.Profile()
    if wanted:
        profile.enable()
    yield
    if wanted:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
