"""Whoever does not hold the password file gets into neither server, whoever they are."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from app.embedded import binary, password, place
from app.embedded.servers import Addresses

Processes = Callable[[Path], dict[int, str]]
Doors = tuple[set[Path], set[tuple[str, int]]]  #: socket files; TCP hosts (as hex) and ports

LOGINS = ("postgres", "fencepost_owner", "fencepost_app", "fencepost_worker", "fencepost_fence")
STRANGERS = ("root", "fencepost", "nobody", None)  #: None: the name of the operating system's user
NOBODY = 65534


def admitted(said: bytes) -> bool:
    """Whether an answer of Redis is anything but a refusal."""
    return not said.startswith((b"-NOAUTH", b"-WRONGPASS", b"-ERR AUTH"))


def asked(port: int, *lines: str) -> list[bytes]:
    """Redis's answers to lines sent over one connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in lines).encode())
        with connection.makefile("rb") as answer:
            return [answer.readline() for _ in lines]


def psql(home: Path, host: Path, user: str | None, secret: str | None, *, uid: int) -> str:
    """What psql, in an otherwise empty environment, says as this user: empty if it got in."""
    program = binary.find(place.locate(home)).psql
    named = ["-U", user] if user else []
    other = uid != os.geteuid()
    done = subprocess.run(
        [program, "-w", "-X", "-h", host, "-d", "fencepost", *named, "-c", "select 1"],
        env={} if secret is None else {"PGPASSWORD": secret}, cwd="/", stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, user=uid if other else None,
        group=uid if other else None, extra_groups=[] if other else None,
    )  # fmt: skip
    return done.stderr if done.returncode else ""


def sockets_of(where: str, inodes: set[str]) -> list[list[str]]:
    """The rows of a kernel's table of sockets that belong to these inodes."""
    rows = [line.split() for line in Path("/proc/net", where).read_text().splitlines()[1:]]
    return [row for row in rows if inodes.intersection(row)]


def listening(pids: list[int]) -> Doors:
    """Every socket file and every TCP address on which these processes listen."""
    inodes = set()
    for pid in pids:
        with suppress(FileNotFoundError):  # a child of theirs that has ended, or a file just closed
            for entry in Path("/proc", str(pid), "fd").iterdir():
                inodes.add(os.readlink(entry).removeprefix("socket:[").removesuffix("]"))
    files = {Path(row[7]) for row in sockets_of("unix", inodes) if row[3] == "00010000"}
    ports = set()
    for table in ("tcp", "tcp6"):
        for row in sockets_of(table, inodes):
            host, _, port = row[1].partition(":")
            if row[3] == "0A":
                ports.add((host, int(port, 16)))
    return files, ports


@pytest.fixture
def doors(home: Path, processes: Processes) -> Doors:
    """All that the two servers listen on, as the kernel sees it."""
    return listening(list(processes(home)))


def test_the_servers_listen_on_one_socket_and_one_loopback_port(
    doors: Doors, addresses: Addresses
) -> None:
    """Postgres has no TCP port at all, and Valkey has one, on loopback alone."""
    files, ports = doors

    assert [file.name for file in files] == [".s.PGSQL.5432"]
    [(host, port)] = ports
    assert host == "0100007F"
    assert f"@127.0.0.1:{port}/" in addresses.redis_url


def users() -> list[int]:
    """Whom an agent may run as here: like us, and as root also the service user and a stranger."""
    service = place.locate(Path("/")).account
    return [os.geteuid()] + ([service.uid, NOBODY] if service else [])


@pytest.mark.contract("S02")
def test_postgres_refuses_everybody_without_a_password(
    home: Path, doors: Doors, addresses: Addresses
) -> None:
    """No, an empty, the user's own name or a usual word as password, or peer: none gets in."""
    for file in doors[0]:
        for uid in users():
            for user in LOGINS + STRANGERS:
                for secret in (None, "", user or "postgres", "fencepost", "password"):
                    said = psql(home, file.parent, user, secret, uid=uid)

                    reason = "Permission denied" if uid == NOBODY else "password"
                    assert reason in said or "does not exist" in said, (uid, user, secret)


def test_the_refusals_come_from_the_missing_password(home: Path, doors: Doors) -> None:
    """With the password from the file the same program gets in, so the refusals mean something."""
    [file] = doors[0]
    secrets = password.load(place.locate(home))
    assert secrets

    assert psql(home, file.parent, "postgres", secrets.superuser, uid=os.geteuid()) == ""
    assert psql(home, file.parent, "fencepost_worker", secrets.worker, uid=os.geteuid()) == ""


@pytest.mark.contract("S02")
def test_valkey_refuses_everybody_without_the_password(home: Path, doors: Doors) -> None:
    """Without the password no command is answered: no, empty and usual credentials are refused."""
    secrets = password.load(place.locate(home))
    assert secrets
    for _, port in doors[1]:
        for command in ("PING", "INFO", "KEYS *", "CONFIG GET requirepass", "FLUSHALL", "ACL LIST"):
            assert not admitted(*asked(port, command)), command
        for credentials in ('""', '"" ""', "default", "default default", 'default ""',
                            "fencepost", "fencepost fencepost", "password"):  # fmt: skip
            for answer in asked(port, f"AUTH {credentials}", "PING"):
                assert not admitted(answer), credentials

        assert asked(port, f"AUTH {secrets.redis}", "PING") == [b"+OK\r\n", b"+PONG\r\n"]


def test_the_dangerous_commands_are_off_even_with_the_password(home: Path, doors: Doors) -> None:
    """Who holds the password still loads no module and moves no file."""
    secrets = password.load(place.locate(home))
    assert secrets
    [(_, port)] = doors[1]
    for command in ("CONFIG SET dir /", "MODULE LOAD /x.so", "DEBUG SLEEP 0"):
        assert asked(port, f"AUTH {secrets.redis}", command)[1].startswith(b"-"), command
    assert asked(port, f"AUTH {secrets.redis}", "CONFIG GET maxmemory-policy")[1] == b"*2\r\n"


def test_no_password_is_in_an_argument_an_environment_or_a_log(
    home: Path, processes: Processes
) -> None:
    """What others may read of a process, and what is written to logs, holds no password."""
    where = place.locate(home)
    secrets = password.load(where)
    assert secrets
    seen = b"".join(file.read_bytes() for file in where.logs.iterdir())
    for pid in processes(home):
        seen += (
            Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        )

    for secret in (secrets.superuser, secrets.owner, secrets.app, secrets.worker, secrets.redis):
        assert secret.encode() not in seen
    assert secrets.redis not in repr(secrets)


def test_what_holds_a_secret_is_closed_to_others(
    home: Path, addresses: Addresses, doors: Doors
) -> None:
    """Password file, configuration, socket folder and data are closed to everybody else."""
    where = place.locate(home)
    [file] = doors[0]
    files = [password.file_of(where), where.data / "valkey.conf"]
    folders = [where.secret, where.postgres, where.valkey, where.logs, file.parent]

    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert len(os.fsencode(file)) < 100
    assert repr(addresses) == "Addresses()"


def test_every_line_of_the_access_file_asks_for_a_password(
    home: Path, addresses: Addresses
) -> None:
    """Postgres itself says: one rule, for the socket alone, by scram-sha-256."""
    with psycopg.connect(addresses.superuser_url.replace("+psycopg", "")) as connection:
        rules = connection.execute(
            "select type, database, user_name, auth_method from pg_hba_file_rules"
        ).fetchall()

    assert rules == [("local", ["all"], ["all"], "scram-sha-256")]


@pytest.mark.contract("S02")
def test_each_login_has_only_its_rights(addresses: Addresses) -> None:
    """The owner owns the database and may create roles; the others may nothing; none is above."""
    query = """
        select rolname, rolcanlogin, rolcreaterole,
               rolsuper or rolcreatedb or rolreplication or rolbypassrls,
               pg_has_role(rolname, 'fencepost_fence', 'set'),
               rolname = (select pg_get_userbyid(datdba) from pg_database
                          where datname = 'fencepost')
        from pg_roles where rolname like 'fencepost%' order by rolname"""
    with psycopg.connect(addresses.superuser_url.replace("+psycopg", "")) as connection:
        rows = connection.execute(query).fetchall()

    assert rows == [
        ("fencepost_app", True, False, False, False, False),
        ("fencepost_fence", False, False, False, True, False),
        ("fencepost_owner", True, True, False, True, True),
        ("fencepost_worker", True, False, False, False, False),
    ]
