"""A worker that reads no more while messages wait and slots are free ends itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.stack import Stack, a_repository
from fixtures.valkey import Valkey, stack_on
from fixtures.waiting import until

from app.domain.errors import RedisUnreachable
from app.embedded import servers
from app.kinds import author
from workers.occupancy import Occupancy
from workers.watchdog import Watchdog

QUEUE = author.NAME
PATIENCE = 3  #: looks

pytestmark = pytest.mark.contract("Q14")


@pytest.fixture
def stack(tmp_path: Path, database: Database, own_redis: Valkey) -> Iterator[Stack]:
    """A stack whose Redis is its own: whoever may connect to it can tell workers what to do."""
    with stack_on(own_redis.url, tmp_path, database) as stack:
        yield stack


def test_a_worker_that_was_told_to_read_no_more_ends_after_its_work(
    stack: Stack, waiting: str, work: str, own_redis: Valkey
) -> None:
    """A stranger's remote control silences it: what runs is finished, then another takes over."""
    stack.start_dispatcher()
    silent = stack.start_worker(patience=PATIENCE)
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    silence(own_redis)
    behind = stack.seen(stack.dispatch(work))
    stack.until(lambda: silent.says("worker.stalled queue=missions.author free=3"))
    assert silent.is_alive
    (stack.outside / "go").touch()

    assert silent.process.wait(30) == 1
    assert running.observation() is not None
    stack.start_worker()
    stack.until(lambda: behind.is_over and running.is_over)
    assert (stack.count("author"), running.outcome, behind.outcome) == (2, "done", "done")


@pytest.mark.long
def test_a_worker_that_drains_is_left_alone(
    stack: Stack, waiting: str, work: str, own_redis: Valkey
) -> None:
    """It reads nothing because it was told to end: its work is not handed back for that."""
    stack.start_dispatcher()
    worker = stack.start_worker(patience=PATIENCE)
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    worker.process.terminate()
    stack.until(lambda: reads_no_more(own_redis))
    stack.dispatch(work)
    stack.until(lambda: own_redis.ask("LLEN", QUEUE))
    began = clock_of(own_redis)
    stack.until(lambda: clock_of(own_redis) >= began + PATIENCE + 2)  # so many looks

    assert not worker.says("worker.stalled")
    (stack.outside / "go").touch()
    assert worker.process.wait(30) == 0
    assert running.observation() is not None


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_stack_goes_on_although_its_worker_was_silenced(tmp_path: Path) -> None:
    """With the patience of production: the parent starts another worker, and the work is done."""
    fencepost = Fencepost(tmp_path / "home")
    source = a_repository(tmp_path / "reader", {"a.py": "x = 1\n"})
    try:
        assert fencepost("up", "--detach").code == 0
        before = worker_of(fencepost)
        silence_at(servers.start(fencepost.home).redis_url)

        run = fencepost.begin("run", "--", "sh", "-c", "echo 'y = 2' >> a.py", at=source)
        out, err = run.communicate(timeout=200)

        assert run.returncode == 0, out + err
        assert worker_of(fencepost) != before
    finally:
        fencepost.clean()


class Seen(Counter[str]):
    """How much was read of each queue."""


@pytest.mark.parametrize(
    ("depth", "busy", "reads"),
    [(0, 0, False), (5, 1, False), (5, 0, True)],
    ids=["nothing waits", "no slot is free", "it reads"],
)
def test_a_worker_with_a_reason_is_left_alone(depth: int, busy: int, reads: bool) -> None:
    """Nothing waits, or no slot is free, or messages are read: that is no stall, ever."""
    occupancy, read = Occupancy(1), Seen()
    watchdog = Watchdog([QUEUE], lambda _: depth, read, occupancy, PATIENCE)

    for _ in range(3 * PATIENCE):
        if busy:
            with occupancy.taken():
                assert watchdog.stalled() is None
        else:
            read[QUEUE] += reads
            assert watchdog.stalled() is None


def test_the_looks_begin_anew_when_redis_was_away() -> None:
    """After an outage Celery may need half a minute to come back; that is not counted."""
    answers = iter([5, 5, None, 5, 5, 5])

    def waiting(_: str) -> int:
        answer = next(answers)
        if answer is None:
            raise RedisUnreachable("away")
        return answer

    watchdog = Watchdog([QUEUE], waiting, {}, Occupancy(1), PATIENCE)

    assert [watchdog.stalled() for _ in range(6)] == [None] * 5 + [QUEUE]


def test_one_silenced_queue_is_enough() -> None:
    """Another queue that is read does not hide one that is not."""
    read = Seen()
    watchdog = Watchdog(["read", "silent"], lambda _: 1, read, Occupancy(1), PATIENCE)

    looks = []
    for _ in range(PATIENCE):
        read["read"] += 1
        looks.append(watchdog.stalled())

    assert looks == [None] * (PATIENCE - 1) + ["silent"]


def reads_no_more(own_redis: Valkey) -> bool:
    """Whether nobody waits at a queue."""
    said = own_redis.ask("INFO", "clients")
    assert isinstance(said, dict)
    return said["blocked_clients"] == 0


def clock_of(own_redis: Valkey) -> int:
    """The server's clock, in seconds."""
    said = own_redis.ask("TIME")
    assert isinstance(said, tuple | list)
    return int(said[0])


def silence(own_redis: Valkey) -> None:
    """Tell every worker, as any Celery program may, to take no more from the queue."""
    silence_at(own_redis.url)


def silence_at(redis_url: str) -> None:
    control = Celery("stranger", broker=redis_url, set_as_current=False).control
    until(
        lambda: "no longer consuming" in str(control.cancel_consumer(QUEUE, reply=True, limit=1)),
    )


def worker_of(fencepost: Fencepost) -> int:
    """The worker's process."""
    roles = fencepost("status", "--json").value["roles"]
    (pid,) = [one["pid"] for one in roles if one["name"] == "worker"]
    return int(pid)
