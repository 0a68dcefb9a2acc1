"""Postgres goes away in mid-run: what was done stays done, and what was lost is done again once."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from fixtures.seen import Seen
from fixtures.stack import LEASE, Stack
from psycopg import sql

Published = Callable[[Seen], None]


def test_a_run_outlasts_a_cut_of_every_connection(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """Shorter than the lease, an outage is not even noticed by the program."""
    stack.build()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    with maintenance(stack) as session:
        cut(session, stack.database.name)
    (stack.outside / "go").touch()

    published_once(seen)
    assert stack.count("author") == 1


@pytest.mark.long
def test_a_run_that_could_not_renew_its_lease_ends_and_starts_again(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """Longer than the lease: the worker ends its program by its own clock; a new claim guards."""
    stack.build()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))
    worker = stack.roles[-1]

    with maintenance(stack) as session:
        allow_connections(session, stack.database.name, allowed=False)
        cut(session, stack.database.name)
        stack.until(lambda: worker.says("claim.lost"), 3 * LEASE.total_seconds())
        allow_connections(session, stack.database.name, allowed=True)
    (stack.outside / "go").touch()

    published_once(seen)
    assert (stack.count("author"), worker.is_alive) == (2, True)
    assert seen.chain[1] == "guarded under fence 2"


def maintenance(stack: Stack) -> psycopg.Connection:
    """A superuser's session in another database."""
    elsewhere = stack.database.called("postgres")
    return elsewhere.connect(elsewhere.superuser_url, autocommit=True)


def cut(session: psycopg.Connection, database: str) -> None:
    """End every session of a database."""
    session.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [database]
    )


def allow_connections(session: psycopg.Connection, database: str, *, allowed: bool) -> None:
    session.execute(
        sql.SQL("alter database {} with allow_connections {}").format(
            sql.Identifier(database), sql.Literal(allowed)
        )
    )
