"""A product that forgets its bounds is found out: verify counts by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from fixtures.bounds import a_bounded_attempt
from fixtures.database import Database
from fixtures.lived import carry_out
from fixtures.world import (
    BASE,
    Attempt,
    a_dispatched_attempt,
    a_world,
    author_observation,
    catch_up,
)

from app.domain.result import Outcome
from app.domain.work_order import Budget
from app.store.engine import Store, open_store
from app.transitions import dispatch, place
from app.transitions.change import LOCAL
from app.transitions.retry import retry
from app.transitions.set_world import set_world
from app.verify.finding import Finding, Violation
from app.verify.reading import World, snapshot
from app.verify.registry import verify


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    """The control plane's login."""
    with closing(open_store(database.app_url, name="test-app")) as store:
        yield store


@pytest.mark.contract("O08")
def test_a_second_writer_of_a_serial_base_is_found(
    database: Database, store: Store, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receipt that let it begin is named."""
    world = a_world(store)
    first = a_bounded_attempt(store, world)
    assert laws(database, nowhere) == []

    monkeypatch.setattr(place, "waits_for", lambda *_, **__: None)
    second = a_bounded_attempt(store, world)

    assert f"attempt {second.id} writes on main beside {first.id}" in laws(database, nowhere)[0]


@pytest.mark.contract("O08")
def test_more_at_work_than_a_world_allows_is_found(
    database: Database, store: Store, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that nobody enforces is no limit."""
    world = a_world(store)
    set_world(store, world, LOCAL, {"concurrency": 1}, "one host")
    a_dispatched_attempt(store, world)
    a_dispatched_attempt(store, world)
    assert laws(database, nowhere) == []

    monkeypatch.setattr(place, "waits_for", lambda *_, **__: None)
    third = a_dispatched_attempt(store, world)

    assert f"attempt {third.id} begins beside 1 others" in laws(database, nowhere)[0]


@pytest.mark.contract("T11")
@pytest.mark.parametrize("budget", [Budget(attempts=1), Budget(wall_time=timedelta(seconds=60))])
def test_an_attempt_beyond_the_budget_is_found(
    database: Database, store: Store, nowhere: Path, monkeypatch: pytest.MonkeyPatch,
    budget: Budget,
) -> None:  # fmt: skip
    """The attempt that should not have begun is named."""
    with closing(open_store(database.worker_url, name="test-worker")) as worker:
        first = a_bounded_attempt(store, budget=budget)
        catch_up(store, first.world)
        carry_out(store, worker, first, author_observation(Outcome.FAILED))
    if budget.wall_time is not None:
        took_longer(database, first)
    assert laws(database, nowhere) == []

    monkeypatch.setattr(dispatch, "_check_budget", lambda *_: None)
    second = retry(store, first.world, LOCAL, first.task, BASE, "the mirror is warm now")

    (found,) = laws(database, nowhere)
    assert found.startswith(f"T11 attempts {first.world}/{second}: ")


def took_longer(database: Database, attempt: Attempt) -> None:
    """Let an attempt have begun two minutes before it did."""
    with database.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        session.execute(
            "update fencepost.attempts set created_at = created_at - interval '2 minutes'"
            " where attempt_id = %s", (attempt.id,),
        )  # fmt: skip


def laws(database: Database, nowhere: Path) -> list[str]:
    """Every violation, as it is told."""
    found: list[Finding] = []
    with snapshot(database.app_url, nowhere) as reading:
        verify(reading, [World(reading, row) for row in reading.worlds()], found.append)
    return [str(one) for one in found if isinstance(one, Violation)]
