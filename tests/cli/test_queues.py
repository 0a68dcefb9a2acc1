"""`fencepost queues`: numbers that are true, and decisions that hold (Q02)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from fixtures.backlog import a_backlog
from fixtures.command import Fencepost
from fixtures.database import Clock, Database
from fixtures.world import a_claim, a_world, an_activity

from app.broker.publisher import Publisher
from app.broker.redis import Broker, worker_role
from app.broker.topology import celery_app
from app.dispatcher import relay
from app.embedded.servers import Addresses
from app.kinds import author, checks, command, pull_request
from app.store import dead_letters
from app.store.engine import Store
from app.transitions.take_turns import take_turns

WHY = ("--reason", "it is tried")
pytestmark = pytest.mark.contract("Q02")


@pytest.fixture
def valkey(embedded: Addresses) -> Iterator[redis.Redis]:
    """An empty Redis that this installation has used before."""
    with closing(redis.Redis.from_url(embedded.redis_url)) as client:
        client.flushall()
        client.set("fencepost:installation", "test")
        yield client


@pytest.fixture
def fencepost(tmp_path: Path, database: Database, embedded: Addresses) -> Fencepost:
    """The command line over servers of somebody's own."""
    return Fencepost(
        tmp_path / "home",
        {"FENCEPOST_DATABASE_URL": database.app_url, "FENCEPOST_REDIS_URL": embedded.redis_url},
    )


def sent(store: Store, url: str) -> None:
    """Let the relay send until nothing more fits."""
    with closing(Broker(url, role="test")) as broker:
        publisher = Publisher(celery_app(url, role="test"))
        while relay.turn(store, broker, publisher, "test"):
            pass


def seen(fencepost: Fencepost) -> dict[str, dict[str, Any]]:
    said = fencepost("queues", "list", "--json")
    assert said.code == 0, said.err
    return {line["queue"]: line for line in said.value["queues"]}


def test_every_number_is_the_truth(
    fencepost: Fencepost, store: Store, worker_store: Store, database: Database,
    embedded: Addresses, valkey: redis.Redis,
) -> None:  # fmt: skip
    """Waiting, in Redis, running, oldest, dead and window, each against its source."""
    world = a_world(store)
    a_claim(store, worker_store, an_activity(store, world))
    a_backlog(database, world, 100)
    a_backlog(database, world, 5, kind=command.NAME)
    with worker_store.begin() as tx:
        dead_letters.bury_bytes(tx, command.NAME, "not_json", b"{")
    sent(store, embedded.redis_url)
    with closing(Broker(embedded.redis_url, role=worker_role("w", 9))) as worker:
        worker.depth(author.NAME)
        queues = seen(fencepost)

    facts = ("state", "waiting", "redis", "out", "running", "dead", "window", "missing", "surplus")
    assert {name: [queues[name][fact] for fact in facts] for name in queues} == {
        author.NAME: ["open", 36, 64, 64, 1, 0, 72, 0, 0],
        command.NAME: ["open", 0, 5, 5, 0, 1, 72, 0, 0],
        pull_request.NAME: ["open", 0, 0, 0, 0, 0, 72, 0, 0],
        checks.NAME: ["open", 0, 0, 0, 0, 0, 72, 0, 0],
    }
    assert valkey.llen(author.NAME) == 64
    assert 3600 <= queues[author.NAME]["oldest"] < 3700
    assert queues[pull_request.NAME]["oldest"] is None


def test_a_full_window_is_a_state_and_both_depths_are_shown(
    fencepost: Fencepost, store: Store, database: Database, embedded: Addresses,
    valkey: redis.Redis,
) -> None:  # fmt: skip
    """People see at one glance that the rest waits in Postgres, and why."""
    a_backlog(database, a_world(store), 100)
    sent(store, embedded.redis_url)

    said = fencepost("queues", "list")

    assert said.code == 0, said.err
    line = next(line for line in said.out.splitlines() if line.startswith(author.NAME))
    assert re.split(r" {2,}", line)[1:5] == ["window full", "36", "64", "0"]


def test_what_postgres_and_redis_do_not_agree_on_is_named(
    fencepost: Fencepost, store: Store, database: Database, embedded: Addresses,
    valkey: redis.Redis, clock: Clock,
) -> None:  # fmt: skip
    """Messages that were lost some time ago, and messages that no delivery is out for."""
    world = a_world(store)
    a_backlog(database, world, 5)
    a_backlog(database, world, 2, kind=command.NAME)
    sent(store, embedded.redis_url)
    valkey.lpop(author.NAME, 3)
    valkey.lpush(command.NAME, b"junk")
    assert seen(fencepost)[author.NAME]["missing"] == 0, "a worker may be about to claim them"

    with database.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        session.execute(
            "update fencepost.deliveries set published_at = published_at - interval '6 s'"
        )

    queues = seen(fencepost)
    assert (queues[author.NAME]["missing"], queues[command.NAME]["surplus"]) == (3, 1)
    said = fencepost("queues", "list").out
    assert f"{author.NAME}: 3 deliveries were sent and have no message in Redis" in said
    assert f"{command.NAME}: 1 messages in Redis are of no delivery that is out" in said


def test_a_redis_that_does_not_answer_is_said(
    fencepost: Fencepost, store: Store, database: Database
) -> None:
    """What Postgres knows is shown all the same."""
    a_backlog(database, a_world(store), 3)

    said = fencepost("queues", "list", FENCEPOST_REDIS_URL="redis://127.0.0.1:1/0")

    assert said.code == 0, said.err
    assert f"{author.NAME}: Redis does not answer" in said.out
    line = next(line for line in said.out.splitlines() if line.startswith(author.NAME))
    assert line.split()[1:4] == ["open", "3", "?"]


def test_pause_and_resume(fencepost: Fencepost, store: Store, database: Database) -> None:
    """By the end of a name, too; who and why are shown, and twice is refused."""
    a_backlog(database, a_world(store), 3)

    assert fencepost("queues", "pause", "author", *WHY).code == 0
    again = fencepost("queues", "pause", "author", *WHY)

    assert (again.code, "wrong_state" in again.err) == (2, True)
    assert seen(fencepost)[author.NAME]["state"] == "paused"
    assert f"{author.NAME}: paused by local" in fencepost("queues", "list").out
    assert take_turns(store, {}, 0) == []
    assert fencepost("queues", "resume", author.NAME, *WHY).code == 0
    assert len(take_turns(store, {}, 0)) == 3


def test_limits_are_decided_shown_and_lifted(
    fencepost: Fencepost, store: Store, database: Database
) -> None:
    """On a queue, on all of them, on what waits in worlds: one command."""
    world = a_world(store)
    a_backlog(database, world, 10)
    (name,) = {one["name"] for one in fencepost("worlds", "list", "--json").value}
    for words in (
        ("author", "--running", "4", "--window", "9"), ("--running", "7"),
        ("--waiting", "50"),
    ):  # fmt: skip
        said = fencepost("queues", "limit", *words, *WHY)
        assert said.code == 0, said.err

    shown = fencepost("queues", "limit", "--json").value
    assert {(one["what"], one["queue"], one["value"]) for one in shown} == {
        ("running", author.NAME, 4), ("window", author.NAME, 9), ("running", None, 7),
        ("waiting", None, 50),
    }  # fmt: skip
    assert {one["reason"] for one in shown} == {"it is tried"}
    by_name = fencepost("queues", "limit", "--waiting", "60", "--world", name, *WHY)
    assert re.search(rf"^waiting +{name} +60 ", by_name.out, re.MULTILINE), by_name.out
    named = fencepost("queues", "limit", "--json").value
    assert [one["world_name"] for one in named if one["world"]] == [name]
    assert len(take_turns(store, {}, 0)) == 4
    assert seen(fencepost)[author.NAME]["state"] == "limit reached"
    fencepost("queues", "limit", "author", "--running", "0", *WHY)
    assert len(take_turns(store, {}, 0)) == 3


@pytest.mark.contract("L8")
@pytest.mark.parametrize(
    "words",
    [
        ("pause", "nobody", *WHY),
        ("limit", "--window", "9", *WHY),
        ("limit", "author", "--waiting", "9", *WHY),
        ("limit", "author", "--running", "9", "--world", "default", *WHY),
        ("limit", "author", "--running", "9"),
    ],
)
def test_what_cannot_be_meant_is_refused(fencepost: Fencepost, words: tuple[str, ...]) -> None:
    """With what to do instead; nothing is decided."""
    said = fencepost("queues", *words)

    assert said.code == 2
    assert len(said.err.splitlines()) == 2
    assert fencepost("queues", "limit", "--json").value == []
