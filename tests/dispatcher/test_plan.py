"""What the dispatcher asks again and again costs the same behind any backlog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from fixtures.backlog import a_backlog
from fixtures.database import Database
from fixtures.spare import copied, dropped
from fixtures.world import a_world
from sqlalchemy import Engine, event

from app.kinds import author
from app.store import activities, claims, deliveries, outbox
from app.store.engine import Store, Tx, open_store

SIZE = 100_000
ROOM = 64
ASKED: dict[str, Callable[[Tx], object]] = {
    "take": lambda tx: outbox.take(tx, author.NAME, ROOM, timedelta(minutes=15)),
    "loads": lambda tx: outbox.loads(tx, {}),
    "recall": outbox.recall,
    "take back": lambda tx: outbox.take_back(tx, author.NAME),
    "undelivered": deliveries.undelivered,
    "past deadline": lambda tx: deliveries.past_deadline(tx, author.NAME),
    "published unclaimed": lambda tx: deliveries.published_unclaimed(tx, author.NAME, timedelta(0)),
    "expired": claims.expired,
    "canceled untouched": activities.canceled_untouched,
}


@pytest.fixture(scope="module")
def crowded(server: Database) -> Iterator[Store]:
    """A database in which 100,000 deliveries wait, in two worlds, and a window of them is out."""
    database = copied(server, server)
    with closing(open_store(database.app_url, name="test-app")) as store:
        one, other = a_world(store), a_world(store)
        a_backlog(database, one, 1000)
        a_backlog(database, other, SIZE - 1000)
        with store.begin() as tx:
            outbox.take(tx, author.NAME, ROOM, timedelta(minutes=15))
        with database.connect(database.superuser_url, autocommit=True) as session:
            session.execute("vacuum analyze")
        yield store
    dropped(database)


@pytest.mark.parametrize("asked", ASKED)
def test_no_hot_statement_reads_the_backlog(crowded: Store, asked: str) -> None:
    """Each statement goes by an index, and reads a few windows of rows at most."""
    read = {}
    for plan in plans_of(crowded.engine, ASKED[asked]):
        for node in nodes(plan):
            if node.get("Relation Name") in ("deliveries", "activities", "claims"):
                rows = node["Actual Loops"] * (
                    node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
                )
                read[f"{node['Node Type']} on {node['Relation Name']}"] = rows

    assert read
    assert {what: rows for what, rows in read.items() if rows > 4 * ROOM} == {}


def plans_of(engine: Engine, ask: Callable[[Tx], object]) -> list[Any]:
    """The plan of every statement that a question sends, as it was carried out; undone."""
    sent: list[tuple[str, Any]] = []

    def note(_: Any, cursor: Any, statement: str, values: Any, *__: Any) -> None:
        sent.append((statement, values))

    event.listen(engine, "before_cursor_execute", note)
    with engine.connect() as tx:
        ask(tx)
        tx.rollback()
    event.remove(engine, "before_cursor_execute", note)
    with engine.connect() as tx:
        plans = [
            tx.exec_driver_sql(f"explain (analyze, format json) {statement}", values).scalar_one()
            for statement, values in sent
        ]
        tx.rollback()
    return [plan[0]["Plan"] for plan in plans]


def nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)
