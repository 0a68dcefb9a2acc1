"""What a command prints as the next one works when it is pasted, whatever the names are."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.command import Fencepost, Said
from fixtures.stack import a_repository

CHANGE = ("sh", "-c", "date +%N >> a.py")
LACKS = "the forge's main has merged requests that your clone lacks: "


@pytest.fixture
def spaced(tmp_path: Path) -> Iterator[Fencepost]:
    """A home whose path has a space, and a stack in it."""
    fencepost = Fencepost(tmp_path / "my home")
    said = fencepost("up", "--detach")
    assert said.code == 0, said.err
    yield fencepost
    fencepost.clean()


def test_names_mean_one_request_each(spaced: Fencepost, tmp_path: Path) -> None:
    """With two repositories of one folder's name, every printed command finds the one it is for."""
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        reader = a_repository(tmp_path / place / "same", {"a.py": "x = 1\n"})
        done = spaced("run", "--title", "Change", "--", *CHANGE, at=reader)
    assert "(ambiguous_id)" in spaced("pull-requests", "show", "1").err

    shown = spaced(*_pasted(done, "fencepost"), at=reader)
    merged = spaced(*_pasted(shown, "fencepost pull-requests merge"), at=reader)

    assert str(reader) in shown.out
    assert merged.code == 0, merged.err
    places = {line.split()[3] for line in spaced("pull-requests", "list").out.splitlines()[1:]}
    assert len(places) == 2


def test_work_on_merged_requests_says_so(spaced: Fencepost, tmp_path: Path) -> None:
    """A run that starts from merges which the reader lacks says so once, with the way to them."""
    reader = a_repository(tmp_path / "reader", {"a.py": "x = 1\n"})
    done = spaced("run", "--", *CHANGE, at=reader)
    assert _git(reader, *_pasted(done, "git")) == 0
    merged = spaced("pull-requests", "merge", "1").out

    on_top = spaced("run", "--", *CHANGE, at=reader)

    (line,) = [line for line in on_top.err.splitlines() if LACKS in line]
    head = merged.splitlines()[0].split()[-1]
    assert f"of reader at main {head[:12]}" in on_top.err
    assert _git(reader, *shlex.split(line.removeprefix(LACKS))[1:]) == 0
    assert LACKS not in spaced("run", "--", *CHANGE, at=reader).err


def _pasted(said: Said, begin: str) -> list[str]:
    """The words of the first printed command that begins so, without the program's name."""
    lines = [line.strip().removeprefix("next: ") for line in said.out.splitlines()]
    command = next(line for line in lines if line.startswith(begin))
    return shlex.split(command.partition(" && ")[0])[1:]


def _git(directory: Path, *words: str) -> int:
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, cwd=directory, check=False).returncode
