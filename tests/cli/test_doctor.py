"""`fencepost doctor`: every lack has a name, a code and what mends it; nothing is changed."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from fixtures.command import Fencepost, Said
from fixtures.database import Database
from fixtures.role import naming

from app import config
from app.cli import doctor_embedded
from app.embedded import account
from app.embedded.servers import Addresses


@pytest.fixture
def given(tmp_path: Path, database: Database, embedded: Addresses) -> Fencepost:
    """A home whose servers are somebody's own, by the login of the control plane."""
    settings = {
        "FENCEPOST_DATABASE_URL": database.app_url,
        "FENCEPOST_REDIS_URL": embedded.redis_url,
    }
    return Fencepost(tmp_path / "home", settings)


@pytest.fixture
def evicting(embedded: Addresses) -> Iterator[None]:
    """A Redis that may throw messages away, as long as the test lasts."""
    with closing(redis.Redis.from_url(embedded.redis_url)) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        yield
        client.config_set("maxmemory-policy", "noeviction")


def mended(said: Said) -> dict[str, str]:
    """Code and verdict of whatever is to be mended; each says how."""
    found = [check for check in said.value["checks"] if check["verdict"] != "ok"]
    assert all(check["then"] for check in found)
    assert said.code == (1 if any(check["verdict"] == "fault" for check in found) else 0)
    told = {check["code"]: check["verdict"] for check in found}
    return {code: verdict for code, verdict in told.items() if not code.startswith("agent_is")}


def seen(said: Said, name: str) -> list[dict[str, Any]]:
    return [check for check in said.value["checks"] if check["name"] == name]


def test_a_whole_installation_has_no_fault(up: Fencepost) -> None:
    """Under a running stack each thing that it stands on is looked at, a line a check, exit 0."""
    said = up("doctor")
    in_full = up("doctor", "--json")

    assert said.code == 0, said.out
    *lines, counts, then = said.out.splitlines()
    assert {line.split()[1] for line in lines} >= {
        "settings", "python", "git", "home", "disk", "secrets", "programs", "socket", "servers",
        "database", "clock", "schema", "login", "redis", "stack", "checkouts", "separation",
    }  # fmt: skip
    assert counts.startswith("0 faults, ")
    assert then.startswith("next: fencepost ")
    assert mended(in_full) == {}
    assert len(seen(in_full, "login")) == 2, "the control plane's and the workers'"
    (separation,) = seen(in_full, "separation")
    expected = "nothing: " if os.geteuid() == 0 else "same user: "
    assert separation["says"].startswith(expected)


@pytest.mark.parametrize(
    ("user", "is_root", "code"),
    [("", True, "agent_is_root"), ("nobody", True, None), ("", False, None)],
)
def test_root_in_namespaces_is_warned_of(
    user: str, is_root: bool, code: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Namespaces hide the home, and root may read every other file."""
    monkeypatch.setattr(account, "is_root", lambda: is_root)
    monkeypatch.setenv("FENCEPOST_AGENT_ISOLATION", "processes")
    monkeypatch.setenv("FENCEPOST_AGENT_USER", user)

    (separation,) = doctor_embedded.separation(config.read({}))

    assert separation.code == code


def test_it_changes_nothing_and_starts_nothing(own: Fencepost) -> None:
    """A fresh home is told how to begin, and stays as it is."""
    said = own("doctor", "--json")

    assert mended(said) == {}
    assert "`fencepost up` makes" in seen(said, "servers")[0]["says"]
    assert not own.home.exists()
    assert naming(own.home) == {}


@pytest.mark.parametrize(
    ("script", "code"),
    [("echo git version 2.30.2", "git_too_old"), (None, "git_missing")],
)
def test_git_must_be_there_and_new_enough(
    own: Fencepost, tmp_path: Path, script: str | None, code: str
) -> None:
    """Without a git that merges without a work tree nothing can be published."""
    (tmp_path / "bin").mkdir()
    if script:
        (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "git").chmod(0o755)

    said = own("doctor", "--json", PATH=str(tmp_path / "bin"))

    assert mended(said) == {code: "fault"}


def test_a_home_that_is_no_folder_is_the_one_fault(own: Fencepost) -> None:
    """What stands on a home is not looked for where there can be none."""
    own.home.write_text("a file")

    assert mended(own("doctor", "--json")) == {"home_unusable": "fault"}

    own.home.unlink()


def test_a_full_disk_is_a_fault() -> None:
    """Less than a database needs is said before anything is begun; `/proc` has nothing free."""
    said = Fencepost(Path("/proc/fencepost/home"))("doctor", "--json", at=Path("/"))

    assert mended(said)["disk_full"] == "fault"


def test_what_others_may_read_is_named(own: Fencepost) -> None:
    """A home open to others is a warning; passwords open to others are a fault."""
    (own.home / "embedded").mkdir(parents=True)
    own.home.chmod(0o755)
    secret = own.home / "embedded" / "passwords.json"
    secret.write_text("{}")
    secret.chmod(0o644)

    said = own("doctor", "--json")

    assert mended(said) == {"home_open": "warning", "secrets_open": "fault"}
    (told,) = seen(said, "secrets")
    assert told["then"] == f"chmod 600 {secret}"


def test_what_dead_processes_left_is_named(own: Fencepost) -> None:
    """A dead parent and the checkout of a dead worker are warnings; a living one's is none."""
    for name in ("stacks", "checkouts/dead", "checkouts/living"):
        (own.home / name).mkdir(parents=True)
    own.home.chmod(0o700)
    dead = {"pid": 1, "started": -1, "kind": "up", "since": 0.0, "embedded": True, "roles": {}}
    (own.home / "stacks" / "1.json").write_text(json.dumps(dead))

    with (own.home / "checkouts" / "living.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = own("doctor", "--json")

    assert mended(said) == {"leftovers": "warning", "checkouts_stale": "warning"}
    (checkouts,) = seen(said, "checkouts")
    assert checkouts["says"].startswith("1 of dead owners, like dead")


def test_settings_that_cannot_be_read_are_a_fault(own: Fencepost) -> None:
    """The rest is looked at all the same, and no password is shown."""
    said = own("doctor", "--json", FENCEPOST_DATABASE_URL="mysql://x:hush@host/db")

    assert mended(said) == {"setting_unfit": "fault"}
    assert seen(said, "git")
    assert "hush" not in said.out


def test_servers_that_do_not_answer_are_faults(given: Fencepost) -> None:
    """Each is named with its setting, and no password is shown."""
    said = given(
        "doctor", "--json",
        FENCEPOST_DATABASE_URL="postgresql://x:hush@127.0.0.1:1/x",
        FENCEPOST_REDIS_URL="redis://:hush@127.0.0.1:1/0",
    )  # fmt: skip

    assert mended(said) == {"database_unreachable": "fault", "redis_unreachable": "fault"}
    assert "hush" not in said.out


def test_a_redis_that_may_evict_is_a_fault(given: Fencepost, evicting: None) -> None:
    """Messages must not be thrown away."""
    assert mended(given("doctor", "--json")) == {"redis_unfit": "fault"}


@pytest.mark.parametrize(
    ("login", "says"),
    [
        ("app_url", "fencepost_app may do what its part needs, and no more"),
        ("worker_url", "fencepost_worker may do what its part needs, and no more"),
        ("owner_url", "the owner's; `fencepost up` makes the two lesser ones from it"),
    ],
)
def test_each_login_is_known_for_its_part(
    given: Fencepost, database: Database, login: str, says: str
) -> None:
    """Whoever runs it by the URL of one process learns what that login is good for."""
    said = given("doctor", "--json", FENCEPOST_DATABASE_URL=getattr(database, login))

    assert mended(said) == {}
    assert [check["says"] for check in seen(said, "login")] == [says]
    assert "off this host's" in seen(said, "clock")[0]["says"]


def test_a_schema_of_another_age_is_named(
    given: Fencepost, new_database: Callable[[], Database]
) -> None:
    """Older is mended by the owner's upgrade, newer by a newer program."""
    other = new_database()
    owner = {"FENCEPOST_DATABASE_URL": other.owner_url}

    empty = mended(given("doctor", "--json", **owner))
    assert given("database", "upgrade", **owner).code == 0
    with other.as_owner() as connection:
        connection.execute("update fencepost.alembic_version set version_num = '9999'")
    newer = mended(given("doctor", "--json", FENCEPOST_DATABASE_URL=other.app_url))

    assert empty == {"schema_older": "warning"}, "the owner mends it by `up`"
    assert newer == {"schema_newer": "fault"}
