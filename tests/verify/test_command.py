"""`fencepost verify` as people type it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.spare import copied, dropped


@pytest.fixture(scope="module")
def spoiled(lived: Database) -> Iterator[Database]:
    """A database whose first results are gone."""
    database = copied(lived, lived)
    with database.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        session.execute("delete from fencepost.results where outcome = 'green'")
    yield database
    dropped(database)


@pytest.fixture
def typed(tmp_path: Path) -> Callable[[Database], Fencepost]:
    """The command line on a database."""

    def on(database: Database) -> Fencepost:
        return Fencepost(tmp_path / "home", {"FENCEPOST_DATABASE_URL": database.app_url})

    return on


@pytest.mark.contract("S04")
def test_violation_is_a_line_and_exit_1(
    typed: Callable[[Database], Fencepost], spoiled: Database
) -> None:
    """A script can tell, and a person sees the law, the table, the row and what is wrong."""
    said = typed(spoiled)("verify")

    assert said.code == 1, said.err
    assert any(line.startswith("L9 results w_") for line in said.out.splitlines()), said.out


@pytest.mark.contract("S04")
def test_clean_database_is_exit_0(typed: Callable[[Database], Fencepost], lived: Database) -> None:
    """Each check has its line with what it read, and what could not be read is said."""
    said = typed(lived)("verify")

    assert said.code == 0, said.out + said.err
    assert "every law is kept" in said.out
    assert "not read: " in said.out


def test_one_world_for_programs(typed: Callable[[Database], Fencepost], spoiled: Database) -> None:
    """With --json each violation is an object of its own, and the last one is the summary."""
    said = typed(spoiled)("verify", "--json")

    *found, summary = (json.loads(line) for line in said.out.splitlines())
    assert found
    assert all(one["violation"]["law"] for one in found)
    assert {check["check"] for check in summary["checks"]} > {"receipts", "effects"}


def test_unknown_world_is_refused(typed: Callable[[Database], Fencepost], lived: Database) -> None:
    """A name that no world has is no clean bill."""
    said = typed(lived)("verify", "--world", "nowhere")

    assert said.code == 2
    assert "not_found" in said.err
