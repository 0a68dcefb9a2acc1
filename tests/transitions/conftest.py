"""Sessions on the common database, for tests that keep to worlds of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from fixtures.database import Database

from app.store.engine import Store, open_store


@pytest.fixture(scope="module")
def control(common: Database) -> Iterator[Store]:
    """The control plane's login."""
    with closing(open_store(common.app_url, name="test-app")) as control:
        yield control


@pytest.fixture(scope="module")
def worker(common: Database) -> Iterator[Store]:
    """The worker's login."""
    with closing(open_store(common.worker_url, name="test-worker")) as worker:
        yield worker
