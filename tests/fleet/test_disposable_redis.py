"""Redis only carries: whatever happens to it, nothing runs twice and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from celery import Celery
from fixtures import swallowing
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.seen import Seen
from fixtures.stack import Stack
from fixtures.valkey import Valkey, stack_on

from app.embedded import valkey
from app.kinds import author

QUEUE = author.NAME
BOUND = 12.0  #: seconds for `fencepost status`; one time-out of Redis is five

pytestmark = pytest.mark.contract("L1", "Q11")

Status = Callable[[], dict[str, object]]


@pytest.fixture
def stack(tmp_path: Path, database: Database, own_redis: Valkey) -> Iterator[Stack]:
    """A stack whose Redis is its own."""
    with stack_on(own_redis.url, tmp_path, database) as stack:
        yield stack


@pytest.fixture
def status(stack: Stack) -> Status:
    """`fencepost status`, which answers in time whatever Redis does."""
    settings = {
        "FENCEPOST_DATABASE_URL": stack.database.app_url,
        "FENCEPOST_REDIS_URL": stack.redis_url,
    }
    fencepost = Fencepost(stack.home, settings)

    def ask() -> dict[str, object]:
        began = time.monotonic()
        said = fencepost("status", "--json")
        assert said.code == 0, said.err
        assert time.monotonic() - began < BOUND
        return dict(said.value)

    return ask


def test_cut_connections_start_nothing_again(
    stack: Stack, waiting: str, work: str, own_redis: Valkey, status: Status
) -> None:
    """All connections are killed, again and again, with one worker busy and one idle."""
    stack.start_dispatcher()
    workers = [stack.start_worker(), stack.start_worker()]
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author") and all(w.says("role.started") for w in workers))

    for _ in range(3):
        own_redis.ask("CLIENT", "KILL", "TYPE", "normal")
        own_redis.ask("CLIENT", "KILL", "TYPE", "pubsub")
        stack.until(lambda: blocked(own_redis) == 2)
    behind = stack.seen(stack.dispatch(work))

    stack.until(lambda: behind.is_over)
    assert status()["workers"] == 2
    assert (stack.count("author"), running.outcome) == (2, None)
    finish(stack, running)
    assert (stack.count("author"), kept(stack)) == (2, 0), "a message came again"
    assert all(role.is_alive for role in stack.roles)


def test_a_redis_that_forgot_all_costs_nothing(
    stack: Stack, waiting: str, work: str, own_redis: Valkey, status: Status
) -> None:
    """Killed and started empty, while one attempt runs in the only slot and one waits, unread."""
    dispatcher = stack.start_dispatcher()
    stack.start_worker(slots=1)
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))
    queued = stack.seen(stack.dispatch(work))
    stack.until(lambda: own_redis.ask("LLEN", QUEUE))

    own_redis.kill()
    assert status()["workers"] is None
    own_redis.start()

    stack.until(lambda: dispatcher.says("broker.wiped replaced=1"))
    stack.until(lambda: own_redis.ask("LLEN", QUEUE) == 1)
    finish(stack, running)
    stack.until(lambda: queued.is_over)
    assert (queued.outcome, stack.count("author")) == ("done", 2)


def test_a_redis_that_hangs_holds_up_nobody_but_the_queue(
    stack: Stack, waiting: str, work: str, own_redis: Valkey, status: Status
) -> None:
    """Frozen with its connections open: what runs is recorded meanwhile, the rest comes after."""
    stack.build()
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    own_redis.freeze()
    try:
        behind = stack.seen(stack.dispatch(work))
        (stack.outside / "go").touch()
        stack.until(lambda: running.observation() is not None)
        assert status()["workers"] is None
        assert behind.outcome is None
    finally:
        own_redis.thaw()

    stack.until(lambda: running.is_over and behind.is_over, 60)
    assert (running.outcome, behind.outcome, stack.count("author")) == ("done", "done", 2)
    assert all(role.is_alive for role in stack.roles)


def test_a_full_redis_delays_and_loses_nothing(
    stack: Stack, waiting: str, work: str, own_redis: Valkey, status: Status
) -> None:
    """It refuses every write until it is given memory; then the outbox drains."""
    dispatcher, _ = stack.start_dispatcher(), stack.start_worker()
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    own_redis.ask("CONFIG", "SET", "maxmemory", "1")
    behind = stack.seen(stack.dispatch(work))
    stack.until(lambda: dispatcher.says("step=relay code=redis_unreachable"))
    (stack.outside / "go").touch()
    stack.until(lambda: running.observation() is not None)
    assert status()["workers"] is not None
    own_redis.ask("CONFIG", "SET", "maxmemory", "0")

    stack.until(lambda: running.is_over and behind.is_over)
    assert (running.outcome, behind.outcome, stack.count("author")) == ("done", "done", 2)
    assert all(role.is_alive for role in stack.roles)


@pytest.mark.contract("Q15")
def test_a_worker_refuses_a_redis_that_evicts(stack: Stack, own_redis: Valkey) -> None:
    """A worker does not start where messages may be dropped to make room."""
    own_redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")

    worker = stack.start_worker()

    assert worker.process.wait(20) == 2
    assert worker.says("code=redis_unfit")


def test_strangers_on_the_same_redis_start_nothing_again(
    stack: Stack, waiting: str, own_redis: Valkey, status: Status
) -> None:
    """A Celery with default options asks who is there, and so does a Flower without our app."""
    stack.build()
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))
    stranger = Celery("stranger", broker=own_redis.url, set_as_current=False)

    assert stranger.control.inspect(timeout=5, limit=1).ping()
    with a_flower(own_redis.url) as address:
        stack.until(lambda: "fencepost-" in answered(f"{address}/workers?json=1"))

    assert status()["workers"] == 1
    finish(stack, running)
    assert (stack.count("author"), kept(stack)) == (1, 0)


@pytest.mark.contract("Q01", "Q10")
def test_a_publish_whose_answer_is_swallowed_runs_once(
    stack: Stack, work: str, own_redis: Valkey
) -> None:
    """The message is stored and the publish fails: it is sent again, and one of the two runs."""
    with swallowing.before(own_redis.port) as proxy:
        redis_url, stack.redis_url = stack.redis_url, proxy.url
        dispatcher = stack.start_dispatcher()
        stack.redis_url = redis_url
        proxy.left_to_swallow = 1
        seen = stack.seen(stack.dispatch(work))
        stack.until(lambda: dispatcher.says("step=relay code=redis_unreachable"))
        stack.start_worker()

        stack.until(lambda: seen.is_over)

    assert proxy.swallowed == 1
    assert (seen.outcome, stack.count("author")) == ("done", 1)
    assert verdicts(stack) <= {"duplicate", "superseded", "recorded", "ended"}


@pytest.mark.contract("Q10")
def test_the_same_bytes_are_worth_one_run_at_any_time(
    stack: Stack, waiting: str, own_redis: Valkey
) -> None:
    """Pushed at two workers at once, while it runs, after FLUSHALL, and after the end."""
    stack.start_dispatcher()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: own_redis.ask("LLEN", QUEUE))
    message = own_redis.ask("LINDEX", QUEUE, "0")
    assert isinstance(message, bytes)
    own_redis.ask("LPUSH", QUEUE, *[message] * 7)

    stack.start_worker()
    stack.start_worker()
    stack.until(lambda: stack.count("author") and kept(stack) == 7)
    own_redis.ask("LPUSH", QUEUE, message, message)
    stack.until(lambda: kept(stack) == 9)
    own_redis.ask("FLUSHALL")
    own_redis.ask("LPUSH", QUEUE, message, message)
    stack.until(lambda: kept(stack) == 11)
    finish(stack, seen)
    own_redis.ask("LPUSH", QUEUE, message, message)
    stack.until(lambda: kept(stack) == 13)

    assert verdicts(stack) == {"duplicate", "ended"}
    assert (stack.count("author"), len(seen.requests)) == (1, 1)


def finish(stack: Stack, seen: Seen) -> None:
    """Let the waiting command go on, and see its attempt done."""
    (stack.outside / "go").touch()
    stack.until(lambda: seen.is_over)
    assert seen.outcome == "done"


def blocked(own_redis: Valkey) -> int:
    """How many clients wait at a queue."""
    said = own_redis.ask("INFO", "clients")
    assert isinstance(said, dict)
    return int(said["blocked_clients"])


def kept(stack: Stack) -> int:
    """How many verdicts were kept."""
    with stack.database.as_superuser() as session:
        row = session.execute("select count(*) from fencepost.verdicts").fetchone()
    assert row
    return int(row[0])


def verdicts(stack: Stack) -> set[str]:
    with stack.database.as_superuser() as session:
        return {row[0] for row in session.execute("select verdict from fencepost.verdicts")}


@contextmanager
def a_flower(redis_url: str) -> Iterator[str]:
    """A Flower as strangers start it: by the broker's URL alone."""
    port = valkey.free_port()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "celery", f"--broker={redis_url}", "flower",
         "--address=127.0.0.1", f"--port={port}"],
        cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(20)


def answered(url: str) -> str:
    """What a page says; nothing while nobody answers."""
    try:
        with closing(urllib.request.urlopen(url, timeout=5)) as page:
            return str(page.read().decode())
    except (urllib.error.URLError, OSError):
        return ""
