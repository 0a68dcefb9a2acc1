"""Whose a home is, and what one that is gone has left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fixtures.command import Fencepost

from app.cli import left_behind
from app.embedded import account, place, servers

NOBODY = 65534


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Somebody else's home: as root one that is given away, else one of root's own."""
    if os.geteuid() != 0:
        return Path("/usr")
    home = tmp_path / "theirs"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    return home


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where root's homes have their data, as it looks to root, whoever we are."""
    monkeypatch.setattr(account, "is_root", lambda: True)
    monkeypatch.setattr(account, "existing", lambda: None)
    monkeypatch.setattr(place, "SHARED", tmp_path / "shared")
    (tmp_path / "shared" / "homes").mkdir(parents=True)
    return tmp_path / "shared" / "homes"


@pytest.mark.contract("L8")
@pytest.mark.parametrize("words", [("up",), ("up", "--detach"), ("down",), ("run", "--", "true")])
def test_nothing_is_left_in_somebody_elses_home(
    theirs: Path, repository: Path, words: tuple[str, ...]
) -> None:
    """Root could write there, and would leave files that their owner cannot open or delete."""
    before = sorted(one.name for one in theirs.iterdir())

    said = Fencepost(theirs)(*words, at=repository)

    assert (said.code, "(home_not_ours)" in said.err) == (2, True), said.err
    assert sorted(one.name for one in theirs.iterdir()) == before


def test_data_says_which_home_it_is_of(shared: Path, tmp_path: Path) -> None:
    """What lies apart names its home; a note that speaks of another home's data proves nothing."""
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.mkdir()
    for home in (here, gone):
        noted(home)
    (shared / "old").mkdir()
    (shared / "odd").mkdir()
    (shared / "odd" / "home").write_bytes(os.fsencode(gone))

    found = {one.data.name: (one.home, one.is_gone) for one in place.apart()}

    assert found == {
        place.locate(here).data.name: (here, False),
        place.locate(gone).data.name: (gone, True),
        "old": (None, False),
        "odd": (None, False),
    }


@pytest.mark.usefixtures("shared")
def test_what_a_home_left_goes_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named with its size; only `--purge` deletes, and never the data of a home that is."""
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.mkdir()
    kept, left = noted(here), noted(gone)
    destroyed: list[Path] = []
    monkeypatch.setattr(servers, "destroy", destroyed.append)

    left_behind.tell()
    said = capsys.readouterr().out
    assert f"{left} is of {gone}, which is gone" in said
    assert "fencepost down --purge" in said
    assert (str(kept) in said, destroyed) == (False, [])

    left_behind.purge()
    assert f"deleted the database of {gone}" in capsys.readouterr().out
    assert destroyed == [gone]


def test_what_a_home_left_can_be_deleted_without_it(own: Fencepost, repository: Path) -> None:
    """Root's data is named once its home is gone; an ordinary user's lay in the home itself."""
    assert own("run", "--", "true", at=repository).code == 0
    data = place.locate(own.home).data
    assert data.is_dir()
    moved = own.home.rename(own.home.with_name("elsewhere"))

    told = Fencepost(own.home.with_name("other"))("down").out
    servers.destroy(own.home)  # as `--purge` does, of this home alone

    is_apart = os.geteuid() == 0
    assert (f"{data} is of {own.home}, which is gone" in told) is is_apart
    assert not data.exists()
    moved.rename(own.home)  # for whoever cleans up


def noted(home: Path) -> Path:
    """Data that lies apart from its home, as a start leaves it."""
    found = place.locate(home)
    found.data.mkdir()
    place._note(home, found)
    (found.data / "file").write_bytes(bytes(2048))
    return found.data
