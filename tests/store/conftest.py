"""Sessions of a worker on the common database, and claims that are live there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from fixtures.database import Database
from fixtures.evidence import prepare
from fixtures.world import Attempt, a_claim, a_dispatched_attempt, catch_up

from app.domain.identity import Claim
from app.store.engine import Store, open_store


@pytest.fixture(scope="module")
def session(common: Database) -> Iterator[psycopg.Connection]:
    """A worker's plain session."""
    with common.as_worker() as session:
        yield session


@pytest.fixture(scope="module")
def control(common: Database) -> Iterator[Store]:
    """The control plane's login, through the code."""
    with closing(open_store(common.app_url, name="test-app")) as control:
        yield control


@pytest.fixture(scope="module")
def worker(common: Database) -> Iterator[Store]:
    """The worker's login, through the code."""
    with closing(open_store(common.worker_url, name="test-worker")) as worker:
        yield worker


@pytest.fixture
def live(control: Store, worker: Store, session: psycopg.Connection) -> Claim:
    """A live claim in a world of its own; written is only what rows of evidence refer to."""
    session.rollback()
    held = a_claim(control, worker)
    prepare(session, held)
    session.commit()
    return held


@pytest.fixture
def attempt(store: Store) -> Attempt:
    """A dispatched and projected attempt."""
    attempt = a_dispatched_attempt(store)
    catch_up(store, attempt.world)
    return attempt
