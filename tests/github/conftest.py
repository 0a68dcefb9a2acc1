"""A server that plays GitHub, and a stack whose repository is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles.github.server import GitHub
from fixtures.github_site import NAME, Site
from fixtures.stack import Stack


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    """A server with one private repository."""
    with GitHub(tmp_path / "github") as server:
        server.door.add_repository(NAME, files={"a.py": "x = 1\n"})
        yield server


@pytest.fixture
def site(stack: Stack, github: GitHub) -> Site:
    """A stack that was told a token, and of which nothing runs yet."""
    stack.settings |= {
        "FENCEPOST_GITHUB_URL": github.api,
        "FENCEPOST_GITHUB_TOKEN": github.door.add_token(),
        "FENCEPOST_GITHUB_SETTLE": "3",
    }
    return Site(stack, github, github.door.refs(NAME)["refs/heads/main"])
