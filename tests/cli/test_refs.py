"""`fencepost refs`: what is at remotes, what is known of it, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.refs import Shore, a_shore

from app.domain.authority import Scope
from app.domain.operation import Mark
from app.transitions.add_repository import add_repository
from app.transitions.change import LOCAL
from app.transitions.create_token import create_token


@pytest.fixture(params=["local", "github"])
def shore(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Iterator[Shore]:
    """A repository at each forge in turn."""
    with a_shore(database, tmp_path / "home", request.param) as one:
        yield one


@pytest.fixture
def here(database: Database, tmp_path: Path) -> Iterator[Shore]:
    """A repository at the local forge."""
    with a_shore(database, tmp_path / "home", "local") as one:
        yield one


def command(shore: Shore) -> Fencepost:
    """The command line on that database and that home."""
    return Fencepost(
        shore.home,
        {
            "FENCEPOST_DATABASE_URL": shore.database.app_url,
            "FENCEPOST_GITHUB_URL": shore.github.api,
            "FENCEPOST_GITHUB_TOKEN": shore.github.door.add_token(),
        },
    )


@pytest.mark.contract("G08")
def test_refs_are_listed_rehearsed_and_pruned(shore: Shore) -> None:
    """Each with its attempt and standing; a rehearsal changes nothing; a second prune neither."""
    old, young = shore.ended(), shore.ended(timedelta(days=2))
    fencepost = command(shore)

    listed = fencepost("refs", "list")
    dry = fencepost("refs", "prune", "--dry-run")
    before = shore.at_remote()
    done = fencepost("refs", "prune", "--json")
    again = fencepost("refs", "prune")

    header, *rows, counts = listed.out.splitlines()
    assert (listed.code, len(rows), counts) == (0, 2, "1 young, 1 due"), listed.err
    assert 2 <= len([name for name in header.split("  ") if name]) <= 8
    (row,) = (row for row in rows if " due " in row)
    for words in ("widgets", old.operation[:12], "missions.author", old.attempt.id, "31d"):
        assert words in row
    assert (dry.code, dry.out) == (0, "1 operation ref would be deleted\nleft: 1 young\n")
    assert set(before) == {old.ref, young.ref}
    one, summed = done.lines
    assert (done.code, one["ref"], one["standing"]) == (0, old.ref, "deleted")
    assert summed == {"dry_run": False, "refs": {"young": 1, "deleted": 1}, "unread": []}
    assert (again.code, again.out) == (0, "0 operation refs deleted\nleft: 1 young\n")
    assert shore.at_remote() == {young.ref: young.tip}


def test_an_age_and_a_repository_may_be_named(here: Shore) -> None:
    """By the command or by the setting; a retention under an hour is refused by both."""
    one = here.ended(timedelta(days=2))
    fencepost = command(here)

    elsewhere = fencepost("refs", "prune", "--older-than", "1d", "--repository", "gadgets")
    short = fencepost("refs", "prune", "--older-than", "59m")
    unset = fencepost("refs", "prune", FENCEPOST_REFS_RETENTION="0")
    unfit = fencepost("refs", "prune", FENCEPOST_REFS_RETENTION="5")
    assert (elsewhere.code, "(not_found)" in elsewhere.err) == (2, True)
    assert (short.code, "1h" in short.err) == (2, True)
    assert (unset.code, "--older-than 30d" in unset.err) == (2, True)
    assert (unfit.code, "(setting_unfit)" in unfit.err) == (2, True)
    assert here.at_remote() == {one.ref: one.tip}

    done = fencepost("refs", "prune", "--repository", "widgets", FENCEPOST_REFS_RETENTION="1d")

    assert (done.code, here.at_remote()) == (0, {})


def test_an_alarm_is_a_line_and_an_exit_code(here: Shore) -> None:
    """What the rows contradict is said each time, and is still there afterwards."""
    one = here.ended()
    here.mark(one, Mark.GUARDED)

    said = command(here)("refs", "prune")

    line, *_ = said.out.splitlines()
    assert said.code == 1
    assert line.startswith(f"alarm (not_final): widgets: {one.ref}: the work ended as unchanged")
    assert here.at_remote() == {one.ref: one.tip}


def test_a_remote_in_trouble_and_one_that_is_elsewhere_are_named(here: Shore) -> None:
    """The others have their turn all the same."""
    gone = f"{here.github.url}/acme/gone.git"
    add_repository(here.store, here.world, LOCAL, "a-gone", gone, "github")
    add_repository(here.store, here.world, LOCAL, "b-elsewhere", "/srv/b.git")
    here.ended()

    said = command(here)("refs", "prune")

    assert (said.code, here.at_remote()) == (1, {})
    assert "warning: a-gone: " in said.err
    assert "b-elsewhere: its mirror is not on this host" in said.err


@pytest.mark.contract("S01")
def test_pruning_is_for_an_admin(here: Shore) -> None:
    """Evidence is deleted, at remotes that many rely on."""
    one = here.ended()
    token = create_token(here.store, "ann", [Scope.OPERATOR])

    said = command(here)("refs", "prune", FENCEPOST_TOKEN=token.secret)

    assert (said.code, "(scope_missing)" in said.err) == (2, True)
    assert here.at_remote() == {one.ref: one.tip}
