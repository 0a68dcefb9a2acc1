"""Whatever is pushed into Redis: it becomes a dead letter, and nobody's work is disturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fixtures.database import Database
from fixtures.junk import JUNK, SOUND, damaged, with_body
from fixtures.role import Role
from fixtures.stack import Stack
from fixtures.valkey import Valkey, stack_on
from psycopg import sql

from app.broker import unburied
from app.kinds import author

QUEUE = author.NAME
KEPT = 262_144  #: bytes of a message

pytestmark = pytest.mark.contract("Q04")


@pytest.fixture
def stack(tmp_path: Path, database: Database, own_redis: Valkey) -> Iterator[Stack]:
    """A stack whose Redis is its own."""
    with stack_on(own_redis.url, tmp_path, database) as stack:
        yield stack


@pytest.fixture
def worker(stack: Stack) -> Role:
    """A worker that takes messages."""
    worker = stack.start_worker()
    stack.until(lambda: worker.says("role.started"))
    return worker


@pytest.mark.contract("Q11")
def test_junk_is_buried_beside_the_work(
    stack: Stack, waiting: str, work: str, own_redis: Valkey
) -> None:
    """Every kind of junk, with work running and work behind it: letters, and nothing else happens.

    Bytes, size and cause are kept; what runs is not run again, what waits is not delayed, and no
    process dies.
    """
    stack.build()
    running = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    pushed = [*(junk for junk, _ in JUNK.values()), SOUND]
    own_redis.ask("LPUSH", QUEUE, *pushed)
    behind = stack.seen(stack.dispatch(work))

    stack.until(lambda: behind.is_over)
    stack.until(lambda: len(letters(stack)) == len(JUNK))
    assert (behind.outcome, running.outcome) == ("done", None)
    assert letters(stack) == [
        (QUEUE, str(cause), junk[:KEPT], len(junk)) for junk, cause in JUNK.values()
    ]
    assert verdicts(stack)["unknown_identity"] == 1
    (stack.outside / "go").touch()
    stack.until(lambda: running.is_over)
    assert (running.outcome, stack.count("author")) == ("done", 2)
    assert all(role.is_alive for role in stack.roles)


def test_no_damaged_message_vanishes(stack: Stack, worker: Role, own_redis: Valkey) -> None:
    """A sound message with any part of it replaced: a letter or a verdict each, and none lost."""
    pushed = list(damaged())
    for one in pushed:
        own_redis.ask("LPUSH", QUEUE, one)

    stack.until(lambda: own_redis.ask("LLEN", QUEUE) == 0)
    stack.until(lambda: len(letters(stack)) + verdicts(stack).total() >= len(pushed))

    assert len(letters(stack)) + verdicts(stack).total() == len(pushed)
    assert set(verdicts(stack)) == {"unknown_identity"}
    take_a_message(stack, own_redis)
    assert worker.is_alive


def test_junk_on_the_control_channel_ends_no_worker(
    stack: Stack, worker: Role, own_redis: Valkey
) -> None:
    """Remote control is published to, not queued: junk there is forgotten, and work goes on."""
    stack.until(lambda: own_redis.ask("PUBSUB", "NUMPAT") or own_redis.ask("PUBSUB", "CHANNELS"))
    for junk in [*(junk for junk, _ in JUNK.values()), *damaged(), with_body({"method": 7})]:
        own_redis.ask("PUBLISH", "/0.celery.pidbox", junk)

    take_a_message(stack, own_redis)
    assert worker.is_alive


def test_what_celery_leaves_in_redis_ends_no_worker(
    stack: Stack, worker: Role, own_redis: Valkey
) -> None:
    """Junk where others keep what they have read: old enough to be put back, and no message."""
    stack.until(lambda: own_redis.ask("EXISTS", "_kombu.binding.fencepost"))
    for number, junk in enumerate((b"{}", b"no json", SOUND)):
        own_redis.ask("HSET", "unacked", f"tag{number}", junk)
        own_redis.ask("ZADD", "unacked_index", "1", f"tag{number}")

    own_redis.ask("CLIENT", "KILL", "TYPE", "normal")

    take_a_message(stack, own_redis)
    assert worker.is_alive
    stack.start_worker()
    take_a_message(stack, own_redis)
    assert all(role.is_alive for role in stack.roles)


def test_junk_outlasts_postgres_and_its_worker(
    stack: Stack, worker: Role, own_redis: Valkey
) -> None:
    """Without Postgres it is put aside in Redis; the worker dies, and another buries it, once."""
    junk, cause = JUNK["bytes that are no text"]
    with no_database(stack):
        own_redis.ask("LPUSH", QUEUE, junk, junk)
        stack.until(lambda: own_redis.ask("LLEN", unburied.KEY) == 2)
        worker.kill()

    stack.start_worker()
    stack.start_worker()

    stack.until(lambda: own_redis.ask("LLEN", unburied.KEY) == 0)
    assert letters(stack) == [(QUEUE, str(cause), junk, len(junk))] * 2


def test_junk_that_can_be_put_nowhere_is_held(
    stack: Stack, worker: Role, own_redis: Valkey
) -> None:
    """Neither Postgres nor Redis takes it: the worker keeps it until one of them does."""
    junk, cause = JUNK["plain text"]
    own_redis.ask("SET", unburied.KEY, "no list")
    with no_database(stack):
        own_redis.ask("LPUSH", QUEUE, junk)
        stack.until(lambda: worker.says("not put aside either"))

    stack.until(lambda: letters(stack))
    assert letters(stack) == [(QUEUE, str(cause), junk, len(junk))]
    assert worker.is_alive


def test_junk_among_what_was_put_aside_is_buried_too(
    stack: Stack, worker: Role, own_redis: Valkey
) -> None:
    """The list of what waits for burial is in Redis as well: an entry that is not ours is junk."""
    pushed = [b"x", b'["a"]\n', b'["q", "no_such_cause"]\nx', b'["' + b"q" * 300 + b'", "x"]\nx']
    own_redis.ask("LPUSH", unburied.KEY, *pushed)

    stack.until(lambda: own_redis.ask("LLEN", unburied.KEY) == 0)
    assert letters(stack) == [(unburied.KEY, "malformed", one, len(one)) for one in pushed]
    assert worker.is_alive


@contextmanager
def no_database(stack: Stack) -> Iterator[None]:
    """Nobody reaches the test's database while the inside runs."""
    elsewhere, name = stack.database.called("postgres"), sql.Identifier(stack.database.name)
    allow = sql.SQL("alter database {} with allow_connections {}")
    with elsewhere.connect(elsewhere.superuser_url, autocommit=True) as session:
        session.execute(allow.format(name, sql.Literal(False)))
        session.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s",
            [stack.database.name],
        )
        yield
        session.execute(allow.format(name, sql.Literal(True)))


def letters(stack: Stack) -> list[tuple[str, str, bytes, int]]:
    """Queue, cause, bytes and size of each dead letter, oldest first."""
    with stack.database.as_superuser() as session:
        return session.execute(
            "select queue, cause, bytes, size from fencepost.dead_letters order by dead_letter_id"
        ).fetchall()


def verdicts(stack: Stack) -> Counter[str]:
    with stack.database.as_superuser() as session:
        return Counter(
            row[0] for row in session.execute("select verdict from fencepost.verdicts").fetchall()
        )


def take_a_message(stack: Stack, own_redis: Valkey) -> None:
    """Push a sound message of nothing that exists, and wait for its verdict."""
    before = verdicts(stack).total()
    own_redis.ask("LPUSH", QUEUE, SOUND)
    stack.until(lambda: verdicts(stack).total() == before + 1)
