"""This host's bare cache of a repository's objects, so that each commit is fetched once."""

from __future__ import annotations

from pathlib import Path

from app.repository.git import git
from app.repository.remote import Remote
from workers.workspace.repository import fetch_commit, has_commit

_BASES = "refs/fencepost/bases/"


def brought(cache: Path, remote: Remote, base: str) -> None:
    """Have a base and its history in the cache; BaseMissing, RemoteUnreadable.

    It gets a ref of its own, by which the next fetch tells the remote what is here already.
    """
    if not has_commit(cache, base):
        fetch_commit(cache, remote, base)
    git("update-ref", _BASES + base, base, git_dir=cache)
