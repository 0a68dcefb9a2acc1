"""A database as one process sees it: short transactions, and refusals as domain errors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from app import secrecy
from app.domain import errors

Tx = Connection

#: Well under the shortest lease: a frozen writer holds its successor off for no longer than this.
STATEMENT_TIMEOUT = timedelta(seconds=5)
TRANSACTION_TIMEOUT = timedelta(seconds=6)
IDLE_TIMEOUT = timedelta(seconds=3)
RESTED = 1.0  #: seconds without use, after which a connection may have died unnoticed

_REFUSALS: dict[str, type[errors.Refused]] = {
    "ZF001": errors.StaleFence,
    "ZF002": errors.ClaimNotLive,
    "ZF003": errors.Stopped,
    "ZF004": errors.WrongIsolation,
    "ZF005": errors.UnknownActivity,
    "ZF006": errors.UnfitInput,
    "ZF007": errors.AppendOnly,
    "ZF008": errors.DigestConflict,
}
_CONSTRAINTS: dict[str, type[errors.Refused]] = {
    "attempts_one_active": errors.ActiveAttempt,
    "tasks_one_canonical_child": errors.CanonicalChildExists,
    "principals_name_once": errors.NameTaken,
    "artifacts_size": errors.ArtifactLimit,
    "attempt_counters_artifact_limit": errors.ArtifactLimit,
    "work_orders_second_person": errors.SecondPersonNeeded,
}
_TIMEOUTS = (
    ("statement_timeout", STATEMENT_TIMEOUT),
    ("idle_in_transaction_session_timeout", IDLE_TIMEOUT),
    ("transaction_timeout", TRANSACTION_TIMEOUT),  # Postgres 17 and newer
)


class Store:
    """The database, by one login; `begin` and `ask` are the only ways to speak to it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._at_once = engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def begin(self) -> Iterator[Tx]:
        """One transaction: committed at the end, rolled back by any error.

        What the database refuses comes out as a domain error; a database that cannot be
        reached is DatabaseUnreachable.
        """
        with _translating(), self.engine.begin() as tx:
            yield tx

    @contextmanager
    def ask(self) -> Iterator[Tx]:
        """Statements that each stand for themselves: no transaction is opened, nor awaited.

        For looks, and for single calls of the database's own functions. Errors are as in `begin`.
        """
        with _translating(), self._at_once.connect() as tx:
            yield tx

    def close(self) -> None:
        """Give up every connection."""
        self.engine.dispose()


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except PoolExhausted as fault:
        raise errors.DatabaseUnreachable(f"no connection is free: {fault}") from fault
    except DBAPIError as fault:
        raise translated(fault) from fault


def open_store(url: str, *, name: str, connections: int = 4) -> Store:
    """A store over at most so many connections; nothing is connected yet."""
    return Store(open_engine(url, name=name, connections=connections))


def open_engine(url: str, *, name: str, connections: int = 4, timeouts: bool = True) -> Engine:
    """An engine in READ COMMITTED whose sessions carry the timeouts of PROTOCOL §1."""
    secrecy.note("FENCEPOST_DATABASE_URL", url)
    engine = create_engine(
        _with_driver(url),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=30,
        isolation_level="READ COMMITTED",
        connect_args={
            "application_name": name,
            "connect_timeout": 5,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 8000,
        },
    )
    if timeouts:
        event.listen(engine, "connect", _set_timeouts)
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _doubt_rested)
    return engine


def translated(fault: DBAPIError) -> errors.FencepostError:
    """The domain's word for what the database said."""
    state = getattr(fault.orig, "sqlstate", None) or ""
    message = str(fault.orig).splitlines()[0] if fault.orig else str(fault)
    if refusal := _REFUSALS.get(state):
        return refusal(message)
    constraint = getattr(getattr(fault.orig, "diag", None), "constraint_name", None)
    if constraint in _CONSTRAINTS:
        return _CONSTRAINTS[constraint](message)
    if fault.connection_invalidated or isinstance(fault, OperationalError | InterfaceError):
        return errors.DatabaseUnreachable(secrecy.redacted(message))
    return errors.DatabaseUnfit(f"{state} {message}".strip())


def _with_driver(url: str) -> str:
    parsed = make_url(url)
    if parsed.drivername in ("postgres", "postgresql"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def _note_use(connection: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _doubt_rested(connection: Any, record: Any, proxy: Any) -> None:
    """Ask a connection that has rested whether it still lives; one just used is not asked again.

    A dead one is replaced. One that dies between two uses fails as it would in mid-transaction.
    """
    used = record.info.get("used")  # nothing of one that was made just now
    if used is not None and time.monotonic() - used > RESTED and not _lives(connection):
        raise DisconnectionError


def _lives(connection: Any) -> bool:
    try:
        connection.execute("")
        connection.rollback()
    except psycopg.Error:
        return False
    return True


def _set_timeouts(connection: Any, record: Any) -> None:
    version = connection.info.server_version
    with connection.cursor() as cursor:
        for setting, length in _TIMEOUTS:
            if setting != "transaction_timeout" or version >= 170000:
                cursor.execute(f"set {setting} = {int(length.total_seconds() * 1000)}")
    connection.commit()
