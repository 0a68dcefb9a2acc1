"""What Prometheus is told, beside the rows that it is about."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from fixtures.scraping import Scraped, scrape
from fixtures.stack import Stack
from sqlalchemy import ColumnElement, Table, select

from app.broker.publisher import Publisher
from app.broker.topology import celery_app
from app.domain.delivery import Delivery
from app.domain.identity import ActivityKey, DeliveryNumber
from app.kinds import author
from app.store import schema

QUEUE = {"queue": str(author.NAME)}


def test_counters_are_the_rows(counted: Stack, work: str) -> None:
    """After work, a lost Redis and a doubled message every counter is the number of its rows."""
    dispatcher, worker = counted.start_dispatcher(), counted.start_worker()
    seen = [counted.seen(counted.dispatch(work)) for _ in range(5)]
    counted.until(lambda: all(one.is_over for one in seen), 60)
    _send_again(
        counted, ActivityKey(*rows(counted, schema.results, "world_id", "kind", "activity_id")[0])
    )

    counted.until(lambda: rows(counted, schema.verdicts, "verdict"))
    counted.until(
        lambda: _refused(scrape(worker)) == counts(counted, schema.verdicts, "kind", "verdict")
    )
    control, acting = scrape(dispatcher), scrape(worker)

    assert control.by("fencepost_activities_admitted_total", "kind") == counts(
        counted, schema.activities, "kind"
    )
    assert control.by("fencepost_deliveries_published_total", "kind") == counts(
        counted, schema.deliveries, "kind", where=schema.deliveries.c.published_at.is_not(None)
    )
    assert control.by("fencepost_results_staged_total", "kind") == counts(
        counted, schema.staged_batches, "kind"
    )
    assert control.by("fencepost_activities_settled_total", "kind") == counts(
        counted, schema.settlements, "kind"
    )
    assert acting.by("fencepost_claims_total", "kind") == counts(counted, schema.claims, "kind")
    assert acting.by("fencepost_starts_total", "kind") == counts(counted, schema.starts, "kind")
    assert acting.by("fencepost_forge_calls_total", "kind") == counts(
        counted, schema.effect_calls, "kind"
    )
    assert acting.by("fencepost_results_recorded_total", "kind", "outcome") == counts(
        counted, schema.results, "kind", "outcome"
    )
    assert control.by("fencepost_turn_failures_total", "turn", "code") == {}
    assert control.value("fencepost_ticks_total")
    work_done = control.by("fencepost_turn_work_total", "turn")
    assert work_done[("stage",)] == len(rows(counted, schema.results, "kind"))


def test_recoveries_are_counted_by_their_cause(counted: Stack, waiting: str) -> None:
    """A killed worker costs a lease and a delivery; both are counted as the rows say."""
    dispatcher, worker = counted.start_dispatcher(), counted.start_worker()
    seen = counted.seen(counted.dispatch(waiting))
    counted.until(lambda: counted.count("author"))
    worker.kill()
    counted.roles.remove(worker)

    second = counted.start_worker()
    counted.until(lambda: counted.count("author") == 2)
    (counted.outside / "go").touch()
    counted.until(lambda: seen.is_over)
    control, acting = scrape(dispatcher), scrape(second)

    again = schema.deliveries.c.cause != "first"
    lost = schema.claims.c.end_cause == "expired"
    replaced = control.by("fencepost_deliveries_replaced_total", "kind", "cause")
    assert replaced == counts(counted, schema.deliveries, "kind", "cause", where=again)
    assert (author.NAME, "lost_worker") in replaced
    expired = control.by("fencepost_claims_expired_total", "kind")
    assert expired == counts(counted, schema.claims, "kind", where=lost) == {(author.NAME,): 1}
    decided = acting.by("fencepost_recovery_decisions_total", "kind", "permission")
    assert decided[(author.NAME, "Execute")] == 1


def test_gauges_are_what_rows_and_redis_hold(counted: Stack, waiting: str) -> None:
    """Under load, what waits, what was sent and what runs is told, and no slot is called free."""
    dispatcher, worker = counted.start_dispatcher(), counted.start_worker()
    seen = [counted.seen(counted.dispatch(waiting)) for _ in range(7)]
    counted.until(lambda: counted.count("author") == 4)  # as many as the worker has slots

    counted.until(lambda: _depths(scrape(dispatcher)) == (0, 3, 3, 4))  # answers are kept a while
    full, busy = scrape(dispatcher), scrape(worker)
    (counted.outside / "go").touch()
    counted.until(lambda: all(one.is_over for one in seen), 60)
    counted.until(lambda: scrape(dispatcher).value("fencepost_attempts_active") == 0)
    idle, free = scrape(dispatcher), scrape(worker)

    assert full.by("fencepost_source_up", "source") == {("postgres",): 1, ("redis",): 1}
    assert full.value("fencepost_queue_missing", **QUEUE) == 0
    assert full.value("fencepost_queue_surplus", **QUEUE) == 0
    assert full.value("fencepost_queue_state", state="open", **QUEUE) == 1
    assert full.value("fencepost_attempts_active") == 7
    assert full.value("fencepost_workers_connected") == 1
    assert full.value("fencepost_slots_connected") == 4
    size = full.value("fencepost_window_size", **QUEUE)
    assert full.value("fencepost_window_room", **QUEUE) == (size or 0) - 3
    assert (full.value("fencepost_queue_oldest_age_seconds", **QUEUE) or 0) > 0
    assert (busy.value("fencepost_slots"), busy.value("fencepost_slots_free")) == (4, 0)
    assert (busy.value("fencepost_claims_renewed_total") or 0) >= 4
    assert (free.value("fencepost_slots"), free.value("fencepost_slots_free")) == (4, 4)
    assert idle.by("fencepost_queue_running", "queue") == {}
    assert idle.by("fencepost_queue_messages", "queue") == {}


def test_a_redis_that_hangs_does_not_hang_a_scrape(counted: Stack, silence: str) -> None:
    """It is said to be down, within the patience; what Postgres knows is told all the same."""
    counted.redis_url = silence
    dispatcher = counted.start_dispatcher()
    scrape(dispatcher)

    began = time.monotonic()
    told = scrape(dispatcher)
    took = time.monotonic() - began

    assert took < 4
    assert told.by("fencepost_source_up", "source") == {("postgres",): 1}
    assert told.value("fencepost_source_up", source="redis") == 0
    assert told.value("fencepost_queue_waiting", **QUEUE) == 0
    assert told.value("fencepost_queue_messages", **QUEUE) is None
    assert told.value("fencepost_queue_missing", **QUEUE) is None
    counted.until(
        lambda: scrape(dispatcher).value(
            "fencepost_turn_failures_total", turn="relay", code="redis_unreachable"
        )
    )


@pytest.fixture
def silence() -> Iterator[str]:
    """The URL of something that takes connections and never answers, like a stopped Redis."""
    with closing(socket.create_server(("127.0.0.1", 0))) as deaf:
        yield f"redis://127.0.0.1:{deaf.getsockname()[1]}/0"


def rows(
    stack: Stack, table: Table, *columns: str, where: ColumnElement[bool] | None = None
) -> list[Any]:
    query = select(*(table.c[name] for name in columns))
    with stack.store.begin() as tx:
        return list(tx.execute(query if where is None else query.where(where)))


def counts(
    stack: Stack, table: Table, *columns: str, where: ColumnElement[bool] | None = None
) -> dict[Any, int]:
    return dict(Counter(tuple(row) for row in rows(stack, table, *columns, where=where)))


def _depths(told: Scraped) -> tuple[float | None, ...]:
    names = ("waiting", "out", "messages", "running")
    return tuple(told.value(f"fencepost_queue_{name}", **QUEUE) for name in names)


def _refused(told: Scraped) -> dict[tuple[str, ...], int]:
    return told.by("fencepost_claims_refused_total", "kind", "verdict")


def _send_again(stack: Stack, key: ActivityKey) -> None:
    publisher = Publisher(celery_app(stack.redis_url, role="test"))
    publisher.send(Delivery(key, DeliveryNumber(1), "again"))
