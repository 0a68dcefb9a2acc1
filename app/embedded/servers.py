"""Postgres and Valkey for one machine, safe by default: the one door of this room.

The servers outlive the process that started them, whatever its end; the next start adopts them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from app.domain.errors import ServersUnavailable
from app.embedded import (
    account,
    binary,
    cluster,
    folder,
    password,
    place,
    postgres,
    process,
    record,
    role,
    valkey,
)
from app.embedded.password import Passwords
from app.embedded.place import Place
from app.embedded.process import Process
from app.embedded.record import Record


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the servers answer; each URL carries its password, so none is part of a repr."""

    owner_url: str = field(repr=False)  #: owns the database, may create roles; no superuser
    app_url: str = field(repr=False)
    worker_url: str = field(repr=False)
    superuser_url: str = field(repr=False)  #: for tests and `doctor` only
    redis_url: str = field(repr=False)


def start(home: Path) -> Addresses:
    """Start what does not run, adopt what does; both servers answer to our passwords.

    May be called again, and by several processes at once. What cannot be started here is
    ServersUnavailable.
    """
    with explained(home):
        where = place.prepare(home)
        with folder.locked(where.data):
            # Whoever held the lock may have destroyed the home.
            where = place.prepare(home)
            passwords = password.load(where) or begin(where)
            binaries = binary.find(where)
            folder.own(where.logs, 0o700, where.account)
            database = postgres.start(where, binaries, passwords)
            queue, passwords = valkey.start(where, binaries, passwords)
            return addresses(database, queue, passwords)


def running(home: Path) -> Addresses | None:
    """The addresses of both servers if they run and answer; nothing is made or changed."""
    with explained(home):
        where = place.locate(home)
        passwords = password.load(where)
        database, queue = postgres.running(where), valkey.running(where)
        if passwords is None or database is None or queue is None:
            return None
        if postgres.answers(database, passwords) and valkey.answers(queue, passwords):
            return addresses(database, queue, passwords)
        return None


def noted(home: Path) -> Addresses | None:
    """The addresses of the last start, if both processes live and Postgres answers.

    A Valkey that hangs is noticed by whoever asks it: who only reads the database is not kept.
    """
    with explained(home):
        where = place.locate(home)
        passwords = password.load(where)
        database, queue = postgres.running(where), valkey.running(where)
        if passwords is None or database is None or queue is None:
            return None
        return (
            addresses(database, queue, passwords) if postgres.answers(database, passwords) else None
        )


def alive(home: Path) -> tuple[Process, Process] | None:
    """The processes that the last start noted, if both live; nobody is asked, so it is cheap."""
    where = place.locate(home)
    database = record.recall(postgres.record_of(where))
    queue = record.recall(valkey.record_of(where))
    if database is None or queue is None:
        return None
    both = database.process, queue.process
    return both if all(map(process.is_alive, both)) else None


def stop(home: Path) -> None:
    """End both servers; none of their processes is left. May be called again."""
    with explained(home):
        where = place.locate(home)
        with held(where):
            end(where)


def destroy(home: Path) -> None:
    """End both servers and delete all that `start` made for this home, the data too.

    What root's homes share (the service user, the copy of the programs) stays.
    """
    with explained(home):
        where = place.locate(home)
        with held(where):
            end(where)
            for path in (postgres.socket_of(where), where.secret, where.data):
                if path:
                    folder.remove(path)


def begin(where: Place) -> Passwords:
    """Passwords for a new home; data that an earlier home left under its name goes first."""
    end(where)
    if where.postgres.is_dir() and where.data == where.secret:
        raise ServersUnavailable(
            f"{password.file_of(where)} is lost, and with it the way into the database",
            hint="put the file back from a copy, or destroy this home",
        )
    # As root the data lies elsewhere: a home that was deleted and made again finds the old one's.
    for old in (where.postgres, where.valkey):
        folder.remove(old)
    return password.keep(where, Passwords())


def held(where: Place) -> AbstractContextManager[None]:
    """The lock of a place; a place that is not there has none, and gets none."""
    return folder.locked(where.data) if where.data.is_dir() else nullcontext()


def end(where: Place) -> None:
    """End both servers."""
    valkey.stop(where)
    postgres.stop(where)


def addresses(database: Record, queue: Record, passwords: Passwords) -> Addresses:
    """The URLs of the logins."""
    socket = quote(database.address, safe="")

    def login(name: str, secret: str) -> str:
        return f"postgresql+psycopg://{name}:{secret}@/{role.DATABASE}?host={socket}"

    return Addresses(
        owner_url=login(role.OWNER, passwords.owner),
        app_url=login(role.APP, passwords.app),
        worker_url=login(role.WORKER, passwords.worker),
        superuser_url=login(cluster.SUPERUSER, passwords.superuser),
        redis_url=f"redis://:{passwords.redis}@{valkey.HOST}:{queue.address}/0",
    )


@contextmanager
def explained(home: Path) -> Iterator[None]:
    """Say what to do where the machine refuses: no right, no space, no such system."""
    if sys.platform != "linux":
        raise ServersUnavailable(
            "the embedded servers run on Linux only",
            hint="give FENCEPOST_DATABASE_URL and FENCEPOST_REDIS_URL of servers that you run",
        )
    try:
        yield
    except psycopg.Error as trouble:
        raise ServersUnavailable(
            f"the embedded Postgres of {home} ended while it was spoken to: {trouble}",
            hint="try again; `fencepost down` first, if that does not help",
        ) from trouble
    except OSError as trouble:
        raise ServersUnavailable(
            f"the embedded servers of {home}: {trouble}",
            hint="see that the disk has space and the folder is yours"
            + ("; a root that may not change its user cannot run them" * account.is_root()),
        ) from trouble
