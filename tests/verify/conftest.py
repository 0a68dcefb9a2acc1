"""A database in which every table has rows, made by walking real roads; spoiled and undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fixtures.damage import Damage
from fixtures.database import Database
from fixtures.lived import live
from fixtures.spare import copied, dropped
from sqlalchemy import Engine, text

from app.store.engine import open_engine, open_store
from app.verify.finding import Finding, Violation
from app.verify.reading import Reading, World
from app.verify.registry import verify


@pytest.fixture(scope="session")
def lived(server: Database) -> Iterator[Database]:
    """A database with a past: every kind of ending, and work under way."""
    template = copied(server, server)
    with (
        closing(open_store(template.app_url, name="test-app")) as store,
        closing(open_store(template.worker_url, name="test-worker")) as worker_store,
    ):
        live(store, worker_store)
    yield template
    dropped(template)


@pytest.fixture(scope="session")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A forge without a mirror."""
    return tmp_path_factory.mktemp("forge")


@pytest.fixture(scope="session")
def superuser(lived: Database) -> Engine:
    """Whoever can go past every trigger; nobody stays connected, so that copies can be made."""
    return open_engine(lived.superuser_url, name="test-superuser", connections=1)


@pytest.fixture
def violations(superuser: Engine, nowhere: Path) -> Callable[[Damage | None], list[Violation]]:
    """What verify finds, by the control plane's login, after a damage that is then undone."""

    def run(damage: Damage | None) -> list[Violation]:
        said: list[Finding] = []
        with superuser.connect() as connection:
            if damage is not None:
                damage.do(connection)
            connection.execute(text("set local role fencepost_app"))
            reading = Reading(connection, nowhere)
            verify(reading, [World(reading, row) for row in reading.worlds()], said.append)
            connection.rollback()
        superuser.dispose()
        return [one for one in said if isinstance(one, Violation)]

    return run
