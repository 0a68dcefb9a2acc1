"""What every measurement stands on: servers of its own, and a database for each run."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import psycopg
from fixtures.database import Database, maintenance
from psycopg import sql
from sqlalchemy.engine import make_url

from app.embedded import servers
from app.store import migrate
from app.store.engine import open_engine

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Ground:
    """A Postgres and a Valkey, durable as the product starts them, that nobody else uses."""

    folder: Path
    server: Database
    redis_url: str

    def database(self, *, like: Database | None = None, migrated: bool = True) -> Database:
        """A new database, empty but for the schema, or a copy of another one."""
        made = self.server.called(f"bench_{token_hex(4)}")
        template = like.name if like else "template1"
        owner = make_url(self.server.owner_url).username
        with maintenance(self.server) as session:
            session.execute(_named("create database {} template {} owner {}",
                                   made.name, template, str(owner)))  # fmt: skip
            if like:  # the rights on a database are not copied with it
                session.execute(
                    "update pg_database set datacl ="
                    " (select datacl from pg_database where datname = %s) where datname = %s",
                    (template, made.name),
                )
        if migrated and not like:
            engine = open_engine(made.owner_url, name="bench-owner", timeouts=False)
            migrate.upgrade(engine)
            engine.dispose()
        return made

    def new_folder(self) -> Path:
        """An empty folder for one run."""
        return Path(tempfile.mkdtemp(dir=self.folder))


@contextmanager
def ground() -> Iterator[Ground]:
    """Start the servers; nothing of them is left afterwards."""
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        home = Path(folder) / "servers"
        try:
            found = servers.start(home)
            server = Database(found.owner_url, found.app_url, found.worker_url, found.superuser_url)
            yield Ground(Path(folder), server, found.redis_url)
        finally:
            servers.destroy(home)


@contextmanager
def watching(database: Database) -> Iterator[psycopg.Connection]:
    """A superuser's session that commits each statement."""
    with database.connect(database.superuser_url, autocommit=True) as session:
        yield session


def writes(session: psycopg.Connection) -> int:
    """Transactions of the server that wrote anything so far, whoever's."""
    row = session.execute("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
    assert row is not None
    return int(row[0])


def machine(server: Database) -> str:
    """What the numbers were taken on, in a line; no names."""
    with maintenance(server) as session:
        version = session.info.parameter_status("server_version")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}, PostgreSQL {version} (fsync on);"
        f" load before: {os.getloadavg()[0]:.1f}"
    )


def _named(statement: str, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))
