"""Races between claims, renewals and recordings, each decided by a row lock."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest
from fixtures.database import Database, on_every_server
from fixtures.evidence import present
from fixtures.waiting import until
from fixtures.world import (
    a_claim,
    a_ready_task,
    a_world,
    an_activity,
    author_observation,
)

import app
from app.domain.errors import ActiveAttempt
from app.domain.identity import Claim, DeliveryNumber, mint
from app.store import attempts, board, claims, results
from app.store.cards import Begun, Cards
from app.store.claims import Verdict
from app.store.deliveries import Cause
from app.store.engine import Store, Tx, open_store
from app.transitions.change import LOCAL
from app.transitions.claim import claim
from app.transitions.deliver import deliver
from app.transitions.expire import expire
from app.transitions.record import record

pytestmark = [on_every_server, pytest.mark.contract("L2")]

T = TypeVar("T")
CROWD = 16


@pytest.fixture
def watcher(common: Database) -> Iterator[psycopg.Connection]:
    """A session that sees everybody else's."""
    with common.connect(common.superuser_url, autocommit=True) as watcher:
        yield watcher


def test_zombie_crowd_gets_one_claim(control: Store, common: Database) -> None:
    """Of sixteen claims of one delivery at once exactly one succeeds; the others are duplicates."""
    key = an_activity(control)
    with closing(open_store(common.worker_url, name="crowd", connections=CROWD)) as crowd:
        taken = at_once(
            *(lambda n=n: claim(crowd, key, DeliveryNumber(1), f"worker-{n}") for n in range(CROWD))
        )

    assert [one.fence for one in taken if isinstance(one, Claim)] == [1]
    assert sum(one is Verdict.DUPLICATE for one in taken) == CROWD - 1


@pytest.mark.contract("L3")
def test_zombie_fence_never_repeats(control: Store, worker: Store, common: Database) -> None:
    """Each claim of an activity has a higher fence than any before it."""
    key = an_activity(control)

    fences = []
    for _ in range(4):
        held = a_claim(control, worker, key)
        fences.append(held.fence)
        end_lease(common, held)
        expire(control, claims.OpenClaim(key, held.fence))
        assert deliver(control, key, Cause.LOST_WORKER)

    assert fences == [1, 2, 3, 4]


def test_zombie_renewal_that_waited_does_not_revive(
    live: Claim, worker: Store, common: Database, watcher: psycopg.Connection
) -> None:
    """A renewal that got its row after the lease had run out gives nothing back."""
    end_lease(common, live, after=timedelta(milliseconds=400))
    with common.as_owner() as holder, ThreadPoolExecutor(1) as pool:
        holder.execute(
            "select from fencepost.claims where world_id = %s for update", (live.key.world,)
        )
        renewal = pool.submit(lambda: in_transaction(worker, lambda tx: claims.renew(tx, [live])))
        until(lambda: somebody_waits(watcher))
        until(lambda: lease_is_over(watcher, live))
        holder.commit()

        assert renewal.result() == []


def test_zombie_claimant_that_waited_for_a_renewal_sees_it(
    live: Claim, worker: Store, common: Database, watcher: psycopg.Connection
) -> None:
    """A claim that waits while the lease is prolonged finds the activity held."""
    second_delivery(common, live)
    with common.as_worker() as holder, ThreadPoolExecutor(1) as pool:
        renewed = holder.execute(
            "select fence from fencepost.renew(jsonb_build_array(jsonb_build_object("
            "'w', %s::text, 'k', %s::text, 'a', %s::text, 'f', %s::bigint, 't', %s::text)))",
            (live.key.world, live.key.kind, live.key.activity, live.fence, live.token),
        ).fetchall()
        rival = pool.submit(claim, worker, live.key, DeliveryNumber(2), "worker-2")
        until(lambda: somebody_waits(watcher))
        holder.commit()

        assert renewed == [(live.fence,)]
        assert rival.result() is Verdict.DUPLICATE


@pytest.mark.contract("L5")
def test_zombie_claimant_that_waited_for_a_recording_sees_the_result(
    live: Claim, worker: Store, common: Database, watcher: psycopg.Connection
) -> None:
    """A claim cannot slip in between the lease's end and a recording that came in time."""
    second_delivery(common, live)
    with common.as_worker() as recorder, ThreadPoolExecutor(1) as pool:
        end_lease(common, live, after=timedelta(milliseconds=400))
        present(recorder, live)
        seen = author_observation()
        key = live.key
        recorder.execute(
            "insert into fencepost.results"
            " (world_id, kind, activity_id, fence, digest, outcome)"
            " values (%s, %s, %s, %s, %s, 'green')",
            (key.world, key.kind, key.activity, live.fence, bytes.fromhex(seen.digest)),
        )
        rival = pool.submit(claim, worker, key, DeliveryNumber(2), "worker-2")
        until(lambda: somebody_waits(watcher))
        until(lambda: lease_is_over(watcher, live))
        recorder.commit()

        assert rival.result() is Verdict.RECORDED


@pytest.mark.contract("M12")
def test_zombie_recording_that_waited_for_a_claim_is_refused(
    live: Claim, control: Store, worker: Store, common: Database, watcher: psycopg.Connection
) -> None:
    """A recording that waits while the work is claimed anew finds its fence outdated."""
    second_delivery(common, live)
    end_lease(common, live, after=timedelta(milliseconds=400))
    key = live.key
    with common.as_worker() as rival, ThreadPoolExecutor(1) as pool:
        until(lambda: lease_is_over(watcher, live))
        (fence,) = rival.execute(
            "select fence from fencepost.claim(%s, %s, %s, 2, 'worker-2')",
            (key.world, key.kind, key.activity),
        ).fetchone() or (None,)
        recording = pool.submit(record, worker, live, author_observation())
        until(lambda: somebody_waits(watcher))
        rival.commit()

        assert fence == live.fence + 1
        assert type(recording.exception()).__name__ == "StaleFence"
    with control.begin() as tx:
        assert results.find(tx, key) is None


@pytest.mark.contract("T05")
def test_zombie_dispatch_from_another_process_is_refused(control: Store, common: Database) -> None:
    """Two dispatches of one task at once, from two processes: one attempt and one refusal."""
    world = a_world(control)
    task = a_ready_task(control, world)
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", DISPATCH, common.app_url, world, task],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": str(Path(app.__file__).parents[1])},
        )
        for _ in range(2)
    ]  # fmt: skip
    for rival in rivals:
        assert rival.stdout
        assert rival.stdout.readline() == "ready\n"

    said = at_once(*(lambda rival=rival: rival.communicate("go\n")[0] for rival in rivals))

    assert sorted(said) == ["active_attempt\n", "dispatched\n"]
    with control.begin() as tx:
        latest = attempts.latest(tx, world, task)
    assert latest is not None
    assert latest.number == 1


@pytest.mark.contract("T05")
def test_zombie_second_attempt_is_refused_by_the_database(
    control: Store, common: Database, watcher: psycopg.Connection
) -> None:
    """Without any look beforehand: the second of two inserts waits for the first and is refused."""
    world = a_world(control)
    task = a_ready_task(control, world)

    def insert_attempt(tx: Tx, number: int) -> None:
        cards, card = Cards(tx, world, 1), board.task(tx, world, task)
        cards.begin(Begun(mint("a"), card, number, b"{}", LOCAL, None, []))
        cards.flush()

    with ThreadPoolExecutor(1) as pool, control.begin() as first:
        insert_attempt(first, 1)
        second = pool.submit(lambda: in_transaction(control, lambda tx: insert_attempt(tx, 2)))
        until(lambda: somebody_waits(watcher))
        first.commit()
        assert isinstance(second.exception(), ActiveAttempt)


DISPATCH = """
import sys
from app.domain.errors import FencepostError
from app.store.engine import open_store
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch

url, world, task = sys.argv[1:]
store = open_store(url, name="test-rival")
store.engine.connect().close()
print("ready", flush=True)
sys.stdin.readline()
try:
    dispatch(store, world, LOCAL, task, Base("main", "5" * 40))
except FencepostError as refusal:
    print(refusal.code)
else:
    print("dispatched")
"""


def at_once(*calls: Callable[[], T]) -> list[T]:
    """Make the calls in as many threads, as nearly at the same instant as can be."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def in_transaction(store: Store, call: Callable[..., T]) -> T:
    """One call in a transaction of its own."""
    with store.begin() as tx:
        return call(tx)


def somebody_waits(watcher: psycopg.Connection) -> bool:
    """Whether Postgres says that a session of this database is blocked by another."""
    return bool(
        watcher.execute(
            "select from pg_stat_activity where datname = current_database()"
            " and cardinality(pg_blocking_pids(pid)) > 0"
        ).fetchall()
    )


def end_lease(database: Database, held: Claim, after: timedelta = timedelta(0)) -> None:
    """Let the lease run out, now or a moment later."""
    with database.as_owner() as owner:
        owner.execute(
            "update fencepost.claims set lease_until = clock_timestamp() + %s"
            " where world_id = %s and fence = %s",
            (after, held.key.world, held.fence),
        )


def lease_is_over(watcher: psycopg.Connection, held: Claim) -> bool:
    """Whether the database's clock has passed the lease."""
    return bool(
        watcher.execute(
            "select from fencepost.claims where lease_until < clock_timestamp()"
            " and world_id = %s and fence = %s",
            (held.key.world, held.fence),
        ).fetchall()
    )


def second_delivery(database: Database, held: Claim) -> None:
    """A delivery beside a live claim, as a dispatcher that judged too early would have made it."""
    with database.as_app() as app_session:
        app_session.execute(
            "insert into fencepost.deliveries"
            " (world_id, kind, activity_id, number, cause, deadline)"
            " values (%s, %s, %s, 2, 'lost_worker', clock_timestamp() + interval '1 hour')",
            (held.key.world, held.key.kind, held.key.activity),
        )
