"""Whatever a run made of its folder, the folder goes, and nothing beside it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers.workspace.removal import remove
from workers.workspace.sweep import sweep

pytestmark = pytest.mark.contract("E01")

#: Deeper than Python calls itself, and longer than the kernel takes a path.
DEEP = """
import os
for number in range(3000):
    os.mkdir("d" * 20)
    os.chdir("d" * 20)
open("file", "w").close()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with something in it, beside one that is somebody else's."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").touch()
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "file").touch()
    return root


def deep(root: Path) -> None:
    subprocess.run([sys.executable, "-c", DEEP], cwd=root, check=True)


def closed(root: Path) -> None:
    for name in ("folder", "."):
        (root / name).chmod(0)


def linked(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "theirs")
    (root / "round").symlink_to(".")
    (root / "folder" / "up").symlink_to("../..")


def wide(root: Path) -> None:
    for number in range(200):
        (root / "folder" / str(number) / "inner").mkdir(parents=True)
    os.mkfifo(root / "pipe")


@pytest.mark.parametrize("shape", [deep, closed, linked, wide])
def test_it_goes_and_nothing_else_does(place: Path, shape) -> None:
    """Depth, modes, links and numbers keep nothing alive, and lead nowhere."""
    shape(place)

    remove(place)

    assert not os.path.lexists(place)
    assert (place.parent / "theirs" / "file").exists()


def test_a_link_in_its_place_is_only_unlinked(place: Path) -> None:
    """Who put a link where the folder was loses the link."""
    link = place.with_name("link")
    link.symlink_to(place)

    remove(link)

    assert not os.path.lexists(link)
    assert (place / "folder" / "file").exists()


def test_what_resists_is_said_and_stops_no_sweep(tmp_path: Path, monkeypatch) -> None:
    """A folder that cannot be removed is skipped; the next one goes."""
    for name in ("a-author-1", "b-author-1"):
        (tmp_path / name / "tree").mkdir(parents=True)
    rmdir = os.rmdir

    def refuse(path, **how) -> None:
        if "a-author-1" in str(path):
            raise PermissionError(path)
        rmdir(path, **how)

    monkeypatch.setattr(os, "rmdir", refuse)

    said: list[OSError] = []
    assert sweep(tmp_path, said.append) == ["b-author-1"]
    assert [f"cannot remove {tmp_path}/a-author-1: " in str(fault) for fault in said] == [True]
    with pytest.raises(OSError, match="cannot remove"):
        remove(tmp_path / "a-author-1")


def test_what_no_worker_may_remove_is_named_with_its_reason(tmp_path: Path, monkeypatch) -> None:
    """A person who reads it knows which file, and what the kernel says of it."""
    file = tmp_path / "a-author-1" / "tree" / "deep" / "kept"
    file.parent.mkdir(parents=True)
    file.touch()
    unlink = os.unlink

    def refuse(path, **how) -> None:  # as for a file with the flag `immutable`
        if os.fsencode(path).endswith(b"kept"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
        unlink(path, **how)

    monkeypatch.setattr(os, "unlink", refuse)
    said: list[OSError] = []

    assert sweep(tmp_path, said.append) == []

    (fault,) = said
    assert str(fault).endswith("/kept: Operation not permitted")
