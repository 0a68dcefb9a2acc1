"""A server, a repository, a token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles.github import Door, GitHub
from doubles.github.openapi import DESCRIPTION
from doubles.hands import REPO, Client


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    """The server, in this process."""
    with GitHub(tmp_path / "github") as github:
        yield github


@pytest.fixture
def door(github: GitHub) -> Door:
    """It has `acme/widgets`, with a commit on main and another on `work`."""
    github.door.add_repository(full_name=REPO)
    github.door.push(full_name=REPO, branch="work")
    return github.door


@pytest.fixture
def client(github: GitHub, door: Door) -> Client:
    """With a token for all that Fencepost does."""
    return Client(github, door.add_token(login="fleet-bot", name="fleet"))


@pytest.fixture
def described() -> None:
    """GitHub's description of its API is here."""
    if not DESCRIPTION.exists():
        pytest.skip("GitHub's OpenAPI description is not here: ops/openapi fetches it (npm)")


@pytest.fixture
def clone(client: Client, tmp_path: Path) -> Path:
    """A clone with one commit that nobody has pushed."""
    done = client.git("clone", "-q", f"{client.github.url}/{REPO}.git", "clone", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "clone"
    (folder / "new.txt").write_text("new\n", "utf-8")
    client.git("add", ".", cwd=folder)
    assert client.git("commit", "-qm", "New", cwd=folder).returncode == 0
    return folder
