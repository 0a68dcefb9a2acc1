"""`up` on servers that somebody runs: what it refuses, and what a later one may say anew."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from fixtures.command import Fencepost
from fixtures.database import Database
from sqlalchemy.engine import make_url

from app.embedded.servers import Addresses
from app.store import roles
from app.store.engine import Store, open_engine

REDIS = "FENCEPOST_REDIS_URL"


@pytest.fixture
def owned(
    tmp_path: Path, new_database: Callable[[], Database], embedded: Addresses
) -> Iterator[Fencepost]:
    """A home on servers of somebody's own, by the owner's URL."""
    owner_url = new_database().owner_url
    settings = {"FENCEPOST_DATABASE_URL": owner_url, REDIS: embedded.redis_url}
    fencepost = Fencepost(tmp_path / "home", settings)
    yield fencepost
    fencepost.clean()
    # `up` gave the two lesser logins of the whole server passwords of its own
    with closing(Store(open_engine(owner_url, name="test-owner"))) as owner, owner.begin() as tx:
        for url in (embedded.app_url, embedded.worker_url):
            login = make_url(url)
            roles.set_password(tx, str(login.username), str(login.password))


@pytest.fixture
def ancient() -> Iterator[str]:
    """The URL of a server that knows none of our commands."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    while asked := connection.recv(65536):
                        connection.sendall(b"-ERR unknown command\r\n" * asked.count(b"*"))

        threading.Thread(target=serve, daemon=True).start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@pytest.fixture
def forgetful(embedded: Addresses) -> Iterator[str]:
    """The URL of a Redis that may evict messages."""
    with closing(redis.Redis.from_url(embedded.redis_url)) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        yield embedded.redis_url
        client.config_set("maxmemory-policy", "noeviction")


@pytest.mark.contract("Q15")
def test_up_refuses_a_redis_it_cannot_use(
    owned: Fencepost, ancient: str, forgetful: str, embedded: Addresses
) -> None:
    """Dead, closed to us, forgetful or too old: `up --detach` says which, once, and exits 2."""
    closed = embedded.redis_url.replace("redis://:", "redis://:hush")
    for url, code in [
        ("redis://127.0.0.1:1/0", "redis_unreachable"),
        (closed, "redis_unreachable"),
        (forgetful, "redis_unfit"),
        (ancient, "redis_unfit"),
    ]:
        said = owned("up", "--detach", **{REDIS: url})

        assert (said.code, said.out) == (2, ""), said.err
        assert said.err.startswith("error: ")
        assert f"({code})\n  " in said.err
        assert said.err.count("error:") == 1
        assert "hush" not in said.err


def test_a_later_up_uses_the_redis_it_is_told(owned: Fencepost, embedded: Addresses) -> None:
    """Where Redis is may be said anew; the logins that the first `up` made stay."""
    assert owned("up", "--detach").code == 0
    assert owned("down").code == 0
    before = json.loads((owned.home / "logins.json").read_text())
    other = embedded.redis_url.removesuffix("/0") + "/7"

    said = owned("up", "--detach", **{REDIS: other})

    assert said.code == 0, said.err
    now = json.loads((owned.home / "logins.json").read_text())
    assert (before["redis_url"], now["redis_url"]) == (embedded.redis_url, other)
    assert now["worker_url"] == before["worker_url"]


def test_a_newer_database_is_left_alone(
    owned: Fencepost, database: Database, repository: Path
) -> None:
    """A schema that this program does not know wants a newer program, not an upgrade."""
    with database.as_owner() as connection:
        connection.execute("update fencepost.alembic_version set version_num = '0099'")
    as_owner = {"FENCEPOST_DATABASE_URL": database.owner_url}
    as_app = {"FENCEPOST_DATABASE_URL": database.app_url}

    refused = [
        owned("database", "upgrade", **as_owner),
        owned("up", "--detach", **as_owner),
        owned("run", "--", "true", at=repository, **as_app),
    ]
    worker = owned("worker", FENCEPOST_DATABASE_URL=database.worker_url)
    current = owned("database", "current", **as_app)

    for said in refused:
        assert said.code == 2
        assert "the database is newer than this program" in said.err
        assert "(database_unfit)\n  install the Fencepost" in said.err
    assert (worker.code, "newer than this program" in worker.err) == (2, True)
    assert "next: install the newer Fencepost" in current.out


def test_an_owners_url_leads_to_up(owned: Fencepost, repository: Path) -> None:
    """The owner's login may not work, but it may start a stack: `run` says so."""
    assert owned("database", "upgrade").code == 0

    said = owned("run", "--", "true", at=repository)

    assert said.code == 2
    assert "`fencepost up`" in said.err
