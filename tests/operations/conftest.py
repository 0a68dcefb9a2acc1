"""A repository at each forge in turn, with real operation refs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.database import Database
from fixtures.refs import Shore, a_shore


@pytest.fixture(params=["local", "github"])
def shore(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Iterator[Shore]:
    """Both forges, in everything."""
    with a_shore(database, tmp_path, request.param) as one:
        yield one


@pytest.fixture
def here(database: Database, tmp_path: Path) -> Iterator[Shore]:
    """The local forge, where the forge makes no difference."""
    with a_shore(database, tmp_path, "local") as one:
        yield one


@pytest.fixture
def there(database: Database, tmp_path: Path) -> Iterator[Shore]:
    """GitHub, where only it does what the test is about."""
    with a_shore(database, tmp_path, "github") as one:
        yield one
