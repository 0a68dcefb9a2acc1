"""The embedded Valkey: loopback only, by password only, nothing evicted, everything appended."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

from app.domain.errors import ServersUnavailable
from app.embedded import folder, password, process, record
from app.embedded.binary import Binaries
from app.embedded.password import Passwords
from app.embedded.place import Place
from app.embedded.record import Record

HOST = "127.0.0.1"
PATIENCE = 30.0  #: seconds to the first answer; a long append-only file is read first

_CONFIGURATION = """\
bind {host}
port {port}
protected-mode yes
requirepass {password}
dir {folder}
logfile ""
pidfile ""
daemonize no
set-proc-title no
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
enable-protected-configs no
enable-debug-command no
enable-module-command no
"""


def start(place: Place, binaries: Binaries, passwords: Passwords) -> tuple[Record, Passwords]:
    """Adopt the server that runs, or start one; it answers.

    Its port stays the same. If somebody else took it meanwhile, both port and password are new:
    our clients may have shown the old password to whoever listens there now.
    """
    if server := running(place):
        if not await_answer(server, passwords):
            raise unusable(place, f"Valkey (pid {server.pid}) runs, but does not answer us")
        return server, passwords
    stop(place)
    last = record.recall(record_of(place))
    port = int(last.address) if last else 0
    for _ in range(10):
        if not is_free(port):
            port, passwords = free_port(), password.renew_redis(place, passwords)
        server = launch(place, binaries.valkey, port, passwords.redis)
        if await_answer(server, passwords):
            return server, passwords
        if process.is_alive(server.process) or is_free(port):
            break
    raise unusable(place, f"Valkey does not start: {folder.tail(log_of(place))}")


def running(place: Place) -> Record | None:
    """The server of this place, if it runs."""
    return record.adopt(record_of(place), place.account, configuration_of(place))


def launch(place: Place, program: Path, port: int, secret: str) -> Record:
    """Start the server; it does not answer yet. Its password is in no argument."""
    data = folder.own(place.valkey, 0o700, place.account)
    text = _CONFIGURATION.format(host=HOST, port=port, password=secret, folder=quoted(data))
    folder.write(configuration_of(place), text, place.account)
    record.remember(record_of(place), record.NOBODY, str(port))
    command = [program, configuration_of(place)]
    server = process.launch(command, log_of(place), place.account)
    return record.remember(record_of(place), server, str(port))


def quoted(path: Path) -> str:
    """A path as one word of the configuration."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def await_answer(server: Record, passwords: Passwords) -> bool:
    """Wait until the server takes our password; False once it died or time is up."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if answers(server, passwords):
            return True
        if not process.is_alive(server.process):
            return False
        time.sleep(0.01)
    return False


def answers(server: Record, passwords: Passwords) -> bool:
    """Whether the server takes our password now, and has read its data."""
    request = f"AUTH {passwords.redis}\r\nPING\r\n".encode()
    try:
        with socket.create_connection((HOST, int(server.address)), timeout=5) as connection:
            connection.sendall(request)
            with connection.makefile("rb") as answer:
                return [answer.readline(), answer.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
    except OSError:
        return False


def is_free(port: int) -> bool:
    """Whether nobody listens on this port; none is free if it is 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return port != 0


def free_port() -> int:
    """A port that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def stop(place: Place) -> None:
    """End the server; what it holds is appended first."""
    for server in process.find(place.account, configuration_of(place)):
        process.end(server, (signal.SIGTERM, 30))


def unusable(place: Place, fact: str) -> ServersUnavailable:
    """The refusal that a fact leads to, with the way out."""
    return ServersUnavailable(
        fact,
        hint=f"`fencepost down`, then try again; its log is {log_of(place)}. If it cannot read "
        f"its data, delete {place.valkey}: no work is lost",
    )


def configuration_of(place: Place) -> Path:
    """The server's configuration, which holds its password."""
    return place.data / "valkey.conf"


def record_of(place: Place) -> Path:
    """Where the last start noted the server."""
    return place.data / "valkey.json"


def log_of(place: Place) -> Path:
    """What the server writes to."""
    return place.logs / "valkey.log"
