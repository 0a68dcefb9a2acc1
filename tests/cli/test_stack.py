"""Which stack a command works on, and whose logins it uses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.role import naming

from app.embedded.servers import Addresses
from app.kinds.registry import KINDS


@pytest.fixture
def given(tmp_path: Path, database: Database, embedded: Addresses) -> Fencepost:
    """A home whose servers are somebody's own, by the login of the control plane."""
    settings = {
        "FENCEPOST_DATABASE_URL": database.app_url,
        "FENCEPOST_REDIS_URL": embedded.redis_url,
    }
    return Fencepost(tmp_path / "home", settings)


def test_without_a_worker_it_stays_queued_and_says_so(
    given: Fencepost, repository: Path, after: Callable[..., list[str]]
) -> None:
    """On a stack without a worker the attempt waits, with the way out in the same line."""
    running = given.begin("run", "--", "true", at=repository)

    said = after(running, "queued: ")

    running.kill()
    running.communicate()
    assert "no worker is running; start one with `fencepost worker`" in said[-1]
    (attempt,) = given("attempts", "list", "--json").value
    assert attempt["state"] == "active"


@pytest.mark.parametrize(
    ("setting", "url", "code"),
    [
        ("FENCEPOST_REDIS_URL", "redis://:hush@127.0.0.1:1/0", "redis_unreachable"),
        ("FENCEPOST_DATABASE_URL", "postgresql://x:hush@127.0.0.1:1/x", "database_unreachable"),
    ],
)
def test_servers_that_do_not_answer_are_named(
    given: Fencepost, repository: Path, setting: str, url: str, code: str
) -> None:
    """A server that cannot be reached is a refusal with its code, and no password is shown."""
    said = given("run", "--", "true", at=repository, **{setting: url})

    assert said.code == 2
    assert f"({code})\n  start it, or correct {setting}" in said.err
    assert "hush" not in said.err
    assert not (given.home / "forge").exists()


@pytest.mark.parametrize("login", ["owner_url", "worker_url"])
def test_run_refuses_another_login(
    given: Fencepost, database: Database, repository: Path, login: str
) -> None:
    """The commands decide by the login of the control plane and by no other."""
    said = given(
        "run", "--", "true", at=repository, FENCEPOST_DATABASE_URL=getattr(database, login)
    )

    assert said.code == 2
    assert "(database_unfit)" in said.err


@pytest.mark.contract("S02")
def test_a_worker_refuses_the_owners_login(given: Fencepost, database: Database) -> None:
    """A worker does not start on a login that could get round the fence."""
    said = given("worker", FENCEPOST_DATABASE_URL=database.owner_url)

    assert said.code == 2
    assert "database_unfit" in said.err


def test_a_database_without_a_schema_is_brought_up_to_date(
    given: Fencepost, new_database: Callable[[], Database], repository: Path
) -> None:
    """Before `database upgrade` a command is refused with what to do."""
    empty = new_database()

    said = given("run", "--", "true", at=repository, FENCEPOST_DATABASE_URL=empty.owner_url)
    upgraded = given("database", "upgrade", FENCEPOST_DATABASE_URL=empty.owner_url)
    now = given("database", "current", FENCEPOST_DATABASE_URL=empty.owner_url)

    assert (said.code, upgraded.code, now.code) == (2, 0, 0)
    assert "fencepost database upgrade" in said.err
    assert now.out.splitlines()[0].split()[1] == now.out.splitlines()[1].split()[1]


def test_sql_speaks_by_the_lesser_login_alone(up: Fencepost) -> None:
    """`sql --as worker` is that login and may not do what a worker must not."""
    who = up("sql", "--as", "worker", "--", "-tAc", "select current_user")
    tries = up("sql", "--as", "worker", "--", "-c", "delete from fencepost.claims")

    assert who.out.strip() == "fencepost_worker"
    assert tries.code != 0
    assert "permission denied" in tries.err
    assert who.err == "tables are in schema fencepost: `\\dt fencepost.*`\n"


def test_two_ups_do_not_share_a_home(up: Fencepost) -> None:
    """A second `up` is refused; `--detach` finds that all is well."""
    again = up("up")
    detached = up("up", "--detach")

    assert again.code == 2
    assert "(wrong_state)" in again.err
    assert detached.code == 0
    assert "already up" in detached.out


def test_status_shows_both_depths(up: Fencepost) -> None:
    """Servers, roles, and for each queue what waits in Postgres and in Redis (Q02)."""
    seen = up("status", "--json").value

    assert {role["name"]: role["alive"] for role in seen["roles"]} == {
        "dispatcher": True, "worker": True,
    }  # fmt: skip
    assert [queue["redis"] for queue in seen["queues"]] == [0] * len(KINDS)
    assert [queue["waiting"] for queue in seen["queues"]] == [0] * len(KINDS)


def test_nothing_in_the_records_is_secret(up: Fencepost) -> None:
    """Passwords are in no record of a parent, no log and no argument."""
    kept = json.loads((up.home / "embedded" / "passwords.json").read_text())
    files = [*(up.home / "stacks").iterdir(), *(up.home / "logs").glob("*.log")]
    texts = [file.read_text("utf-8", "replace") for file in files] + list(naming(up.home).values())

    assert len(texts) > 5
    assert [secret for secret in kept.values() for text in texts if secret in text] == []


def test_reading_needs_no_running_stack(own: Fencepost, repository: Path) -> None:
    """After a run everything rests; a listing wakes the database and lets it rest again."""
    ran = own("run", "--", "true", at=repository)
    assert ran.code == 0, ran.err
    assert naming(own.home) == {}

    listed = own("attempts", "list", "--json").value

    assert [attempt["state"] for attempt in listed] == ["unchanged"]
    assert naming(own.home) == {}


def test_where_nothing_ran_there_is_nothing_to_list(own: Fencepost) -> None:
    """A fresh home is told how to begin, and stays as it is."""
    said = own("attempts", "list")

    assert said.code == 2
    assert "`fencepost run -- COMMAND`" in said.err
    assert not own.home.exists()
