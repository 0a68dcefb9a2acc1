"""The embedded Postgres: one cluster, one socket, every login by password (scram-sha-256)."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import psycopg

from app.domain.errors import ServersUnavailable
from app.embedded import cluster, folder, process, record, role
from app.embedded.binary import Binaries
from app.embedded.password import Passwords
from app.embedded.place import Place, sockets
from app.embedded.record import Record

SOCKET = ".s.PGSQL.5432"
PATIENCE = 60.0  #: seconds to the first answer; crash recovery may take that long

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


def start(place: Place, binaries: Binaries, passwords: Passwords) -> Record:
    """Adopt the server that runs, or start one; it answers, and has our roles and database."""
    server = running(place)
    if server is None or not (Path(server.address) / SOCKET).exists():
        stop(place)
        cluster.ensure(place, binaries.initdb, passwords.superuser)
        server = launch(place, binaries.postgres)
    with connected(place, server, passwords) as connection:
        role.ensure(connection, passwords)
    return server


def running(place: Place) -> Record | None:
    """The server of this place, if it runs."""
    return record.adopt(record_of(place), place.account, "-D", place.postgres)


def launch(place: Place, program: Path) -> Record:
    """Start the server; it does not answer yet."""
    address = str(sockets(place))
    settings = _SETTINGS | {"unix_socket_directories": f'"{address}"', "cluster_name": place.name}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    record.remember(record_of(place), record.NOBODY, address)
    command: list[str | Path] = [program, "-D", place.postgres, *options]
    server = process.launch(command, log_of(place), place.account)
    return record.remember(record_of(place), server, address)


def connected(place: Place, server: Record, passwords: Passwords) -> psycopg.Connection:
    """A connection as superuser, as soon as the server takes one."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return connect(server, passwords)
        except psycopg.OperationalError as refusal:
            said = str(refusal).strip().splitlines()[-1]
        if not process.is_alive(server.process):
            raise ServersUnavailable(
                f"Postgres ended at once: {folder.tail(log_of(place))}", hint=f"see {log_of(place)}"
            )
        if "password authentication failed" in said or time.monotonic() > deadline:
            raise ServersUnavailable(
                f"Postgres (pid {server.pid}) runs, but gives us no connection: {said}",
                hint=f"`fencepost down`, then try again; its log is {log_of(place)}",
            )
        time.sleep(0.01)


def connect(server: Record, passwords: Passwords) -> psycopg.Connection:
    """A connection as superuser, or OperationalError."""
    return psycopg.connect(
        host=server.address, user=cluster.SUPERUSER, password=passwords.superuser,
        dbname="postgres", connect_timeout=10, autocommit=True,
    )  # fmt: skip


def answers(server: Record, passwords: Passwords) -> bool:
    """Whether the server takes our password now."""
    try:
        connect(server, passwords).close()
    except psycopg.OperationalError:
        return False
    return True


def stop(place: Place) -> None:
    """End the server, by a fast shutdown first, and whatever dead ones left behind."""
    for server in process.find(place.account, "-D", place.postgres):
        process.end(server, (signal.SIGINT, 30), (signal.SIGQUIT, 5))
    for orphan in process.titled(place.account, f"postgres: {place.name}: "):
        process.is_gone_within(orphan, 5)
        process.end(orphan)
    cluster.sweep(place)
    cluster.unlock(place.postgres / "postmaster.pid")
    if socket := socket_of(place):
        cluster.unlock(socket / f"{SOCKET}.lock")


def socket_of(place: Place) -> Path | None:
    """The socket's folder of the server that was started last; None if the note is a copied one."""
    last = record.recall(record_of(place))
    return Path(last.address) if last and Path(last.address).name == place.name else None


def record_of(place: Place) -> Path:
    """Where the last start noted the server."""
    return place.data / "postgres.json"


def log_of(place: Place) -> Path:
    """What the server writes to."""
    return place.logs / "postgres.log"
