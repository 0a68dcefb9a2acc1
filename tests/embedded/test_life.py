"""The servers live longer than whoever started them, and end when they are told to."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from app.domain.errors import ServersUnavailable
from app.embedded import place, postgres, process, servers, valkey
from app.embedded.servers import Addresses

Starter = Callable[[Path], subprocess.Popen[str]]
Said = Callable[[subprocess.Popen[str]], Addresses]
Processes = Callable[[Path], dict[int, str]]
Until = Callable[[Callable[[], object]], None]


def sql(url: str, statement: str) -> object:
    """The first value that a statement gives, if it gives any."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def pids(home: Path) -> tuple[int, int]:
    """The pids of both servers, which run."""
    where = place.locate(home)
    database, queue = postgres.running(where), valkey.running(where)
    assert database
    assert queue
    return database.pid, queue.pid


def test_a_second_start_changes_nothing(home: Path, addresses: Addresses) -> None:
    """Starting what runs gives the same addresses and the same processes."""
    before = pids(home)

    again = servers.start(home)

    assert again == addresses == servers.running(home)
    assert pids(home) == before


def test_servers_survive_a_killed_starter_and_are_adopted(
    own_home: Path, starter: Starter, said: Said
) -> None:
    """A kill -9 of whoever started the servers leaves them running; the next start adopts them."""
    first = starter(own_home)
    told = said(first)
    before = pids(own_home)

    first.kill()
    first.wait()

    assert said(starter(own_home)) == told
    assert pids(own_home) == before
    assert sql(told.worker_url, "select current_user") == "fencepost_worker"


def test_a_start_that_died_before_its_note_is_adopted(own_home: Path) -> None:
    """A server launched by a start that was killed before it noted the pid is adopted too."""
    told = servers.start(own_home)
    before = pids(own_home)
    where = place.locate(own_home)
    for file in (where.data / "postgres.json", where.data / "valkey.json"):
        text = file.read_text()
        for pid in before:
            text = text.replace(f'"pid": {pid},', '"pid": 0,')
        file.write_text(text)

    assert servers.start(own_home) == told
    assert pids(own_home) == before


def test_two_starts_at_once_make_one_stack(
    own_home: Path, starter: Starter, said: Said, processes: Processes
) -> None:
    """Two processes that start the same home at the same instant get the same servers."""
    several = [starter(own_home) for _ in range(2)]

    first, second = (said(one) for one in several)

    assert first == second
    commands = processes(own_home).values()
    assert sum(" -D " in command for command in commands) == 1
    assert sum("valkey-server" in command for command in commands) == 1


def test_stop_leaves_no_process_and_keeps_the_data(own_home: Path, processes: Processes) -> None:
    """After a stop nothing runs; after the next start what was stored is there."""
    told = servers.start(own_home)
    sql(told.owner_url, "create schema kept")
    assert processes(own_home)

    servers.stop(own_home)
    servers.stop(own_home)

    assert processes(own_home) == {}
    assert servers.running(own_home) is None
    assert servers.start(own_home) == told
    assert sql(told.owner_url, "select count(*) from pg_namespace where nspname = 'kept'") == 1


def test_destroy_leaves_nothing(own_home: Path, processes: Processes) -> None:
    """After a destroy no process, folder, socket or password of this home is left."""
    servers.start(own_home)
    where = place.locate(own_home)
    sockets = postgres.socket_of(where)
    assert sockets
    assert sockets.is_dir()

    servers.destroy(own_home)
    servers.destroy(own_home)

    assert processes(own_home) == {}
    assert not sockets.exists()
    assert not where.data.exists()
    assert list(own_home.iterdir()) == []


def test_a_half_made_cluster_is_thrown_away(
    own_home: Path, starter: Starter, until: Until, processes: Processes
) -> None:
    """A start killed in the middle of initdb costs the next one nothing but the beginning."""
    data = place.locate(own_home).data
    first = starter(own_home)
    until(lambda: list(data.glob("postgres.draft.*/PG_VERSION")))
    first.kill()
    first.wait()
    assert not (data / "postgres").exists()

    told = servers.start(own_home)

    assert sql(told.owner_url, "select current_user") == "fencepost_owner"
    assert list(data.glob("postgres.draft.*")) == []
    assert not any("initdb" in command for command in processes(own_home).values())


def test_killed_servers_come_back_with_their_data(own_home: Path) -> None:
    """A kill -9 of the servers is mended by the next start; nothing committed is lost."""
    told = servers.start(own_home)
    sql(told.owner_url, "create schema kept")
    before = pids(own_home)
    for pid in before:
        os.kill(pid, signal.SIGKILL)

    again = servers.start(own_home)

    assert again == told
    assert set(pids(own_home)).isdisjoint(before)
    assert sql(told.owner_url, "select count(*) from pg_namespace where nspname = 'kept'") == 1


def test_a_lost_socket_is_mended(own_home: Path) -> None:
    """A server whose socket was cleaned away runs on unreachable; the next start replaces it."""
    told = servers.start(own_home)
    sockets = postgres.socket_of(place.locate(own_home))
    assert sockets
    shutil.rmtree(sockets)

    assert servers.running(own_home) is None
    assert servers.start(own_home) == told
    assert sql(told.app_url, "select current_user") == "fencepost_app"


def test_the_end_of_a_copied_home_is_not_the_end_of_the_original(
    home: Path, addresses: Addresses, tmp_path: Path
) -> None:
    """A copy of a home knows the original's passwords and notes, but has no power over it."""
    before = pids(home)
    copy = tmp_path / "copy"
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("postgres", "postgres.draft.*"))

    assert servers.running(copy) is None
    servers.stop(copy)
    servers.destroy(copy)

    assert pids(home) == before
    assert servers.running(home) == addresses


def test_a_lock_file_with_a_reused_pid_is_no_obstacle(own_home: Path) -> None:
    """After a crash the old pid may belong to any process of the same user; it is not mistaken."""
    told = servers.start(own_home)
    where = place.locate(own_home)
    os.kill(pids(own_home)[0], signal.SIGKILL)
    socket_folder = postgres.socket_of(where)
    assert socket_folder
    user = where.account
    with subprocess.Popen(
        ["sleep", "60"], user=user.uid if user else None, stdout=subprocess.DEVNULL
    ) as stranger:
        for lock in (where.postgres / "postmaster.pid", socket_folder / ".s.PGSQL.5432.lock"):
            rest = lock.read_text().partition("\n")[2]
            lock.write_text(f"{stranger.pid}\n{rest}")

        assert servers.start(own_home) == told

        assert stranger.poll() is None
        stranger.kill()


def test_a_port_lost_to_somebody_else_takes_its_password_along(own_home: Path) -> None:
    """Whoever took the port may have seen our clients' password: both are new afterwards."""
    told = servers.start(own_home)
    servers.stop(own_home)
    port = int(told.redis_url.rpartition(":")[2].partition("/")[0])
    with socket.create_server(("127.0.0.1", port)):
        other = servers.start(own_home)

    assert f":{port}/" not in other.redis_url
    assert other.redis_url.partition("@")[0] != told.redis_url.partition("@")[0]
    assert other.owner_url == told.owner_url


def test_two_homes_do_not_disturb_each_other(
    home: Path, addresses: Addresses, own_home: Path
) -> None:
    """Two homes have their own servers and passwords; the end of one is not the other's."""
    before = pids(home)

    other = servers.start(own_home)
    secret = addresses.owner_url.partition("fencepost_owner:")[2].partition("@")[0]
    theirs = other.owner_url.partition("fencepost_owner:")[2].partition("@")[0]
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        sql(other.owner_url.replace(theirs, secret), "select 1")
    servers.destroy(own_home)

    assert pids(home) == before
    assert servers.running(home) == addresses


def test_a_home_made_again_does_not_meet_its_predecessor(
    own_home: Path, processes: Processes
) -> None:
    """A home that was deleted with its servers running, then made again, begins empty."""
    told = servers.start(own_home)
    sql(told.owner_url, "create schema forgotten")
    shutil.rmtree(own_home)

    again = servers.start(own_home)

    assert again.owner_url != told.owner_url
    query = "select count(*) from pg_namespace where nspname = 'forgotten'"
    assert sql(again.owner_url, query) == 0
    assert sum("valkey-server" in command for command in processes(own_home).values()) == 1


def test_a_home_that_cannot_be_used_says_what_to_do(tmp_path: Path) -> None:
    """A home that is no folder is refused with a stable code and a hint."""
    home = tmp_path / "home"
    home.write_text("in the way")

    with pytest.raises(ServersUnavailable) as refusal:
        servers.start(home)

    assert refusal.value.code == "servers_unavailable"
    assert refusal.value.advice


def test_a_planted_symlink_is_not_followed(tmp_path: Path) -> None:
    """A symlink under a name of ours is refused, and what it points to stays as it was."""
    target = tmp_path / "elsewhere"
    target.mkdir(mode=0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / "embedded").symlink_to(target)

    with pytest.raises(ServersUnavailable, match="not a folder of ours"):
        servers.start(home)

    assert list(target.iterdir()) == []
    assert target.stat().st_mode & 0o777 == 0o755
    servers.destroy(home)


def test_a_process_is_known_by_pid_and_start_time() -> None:
    """A later process of the same pid is another process."""
    ours = process.Process(os.getpid(), process.started_at(os.getpid()) or 0)

    assert process.is_alive(ours)
    assert not process.is_alive(process.Process(ours.pid, ours.started - 1))
