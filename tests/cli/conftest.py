"""Homes with and without a stack, and a reader's repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.stack import a_repository


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Fencepost]:
    """A home in which nothing runs yet; afterwards nothing is left of it."""
    fencepost = Fencepost(tmp_path / "home")
    yield fencepost
    fencepost.clean()


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fencepost]:
    """A home in which a stack is up, for tests that leave it as it is."""
    fencepost = Fencepost(tmp_path_factory.mktemp("up") / "home")
    said = fencepost("up", "--detach", "--slots", "2")
    assert said.code == 0, said.err
    yield fencepost
    fencepost.clean()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A reader's repository with one commit."""
    return a_repository(tmp_path / "reader", {"src/a.py": "x = 1\n", "docs/a.txt": "text\n"})


@pytest.fixture
def after() -> Callable[[subprocess.Popen[str], str], list[str]]:
    """Read a command's standard error until it says something; what it said so far."""

    def read(process: subprocess.Popen[str], words: str) -> list[str]:
        assert process.stderr
        said = []
        for line in process.stderr:
            said.append(line)
            if words in line:
                return said
        pytest.fail(f"it never said {words!r}: {''.join(said)}")

    return read
