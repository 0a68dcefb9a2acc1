"""Where operation refs are: at the remote of each repository, once for all worlds that know it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.domain.operation import BRANCH_PREFIX, REF_PREFIX
from app.domain.pruning import Seen
from app.domain.pull_request import LOCAL_FORGE
from app.github.address import FORGE
from app.github.hub import Hub
from app.repository.git import git
from app.repository.push import tips
from app.repository.remote import Remote
from app.store.views.fleet import RepositorySeen


@dataclass(frozen=True, slots=True)
class Place:
    """One remote, and the repositories that are there."""

    name: str
    url: str
    forge: str
    repositories: frozenset[str]  #: ids

    def is_called(self, word: str) -> bool:
        """Whether somebody who says this means it."""
        return word in (self.name, self.url) or any(
            one.startswith(word) for one in self.repositories
        )


@dataclass(frozen=True, slots=True)
class Desk:
    """A remote, and a git folder here to read in and to push from."""

    remote: Remote
    git_dir: Path
    is_mirror: bool = False  #: the folder is the remote itself


def places(known: Sequence[RepositorySeen]) -> list[Place]:
    """Every remote, by name; repositories of several worlds at one address are one."""
    found: dict[str, Place] = {}
    for one in known:
        at = one.id if one.forge == LOCAL_FORGE else f"{one.forge} {one.url}"
        ids = found[at].repositories if at in found else frozenset()
        found[at] = Place(one.name, one.url, one.forge, ids | {one.id})
    return list(found.values())


@contextmanager
def desk(place: Place, home: Path, hub: Hub) -> Iterator[Desk | None]:
    """The desk for a place; None: its remote is another host's alone, or of another forge.

    Where a forge wants proof and there is none it is CredentialMissing.
    """
    if place.forge == FORGE:
        at = hub.repository(place.url)
        with tempfile.TemporaryDirectory(prefix="fencepost-refs-") as folder:
            git("init", "--quiet", "--bare", "--template=", "--object-format=sha1", folder)
            yield Desk(Remote(at.address.url, at.access), Path(folder))
        return
    (repository, *_) = place.repositories
    mirror = home / "forge" / f"{repository}.git"
    is_here = place.forge == LOCAL_FORGE and mirror.is_dir()
    yield Desk(Remote(str(mirror)), mirror, is_mirror=True) if is_here else None


def seen_at(desk: Desk) -> list[Seen]:
    """Every operation ref of a remote, and the branches that stand in for some."""
    found = tips(desk.git_dir, desk.remote, [f"{REF_PREFIX}*", f"{BRANCH_PREFIX}*"])
    return [
        Seen(ref, sha) for ref, sha in sorted(found.items())
        if ref.startswith((REF_PREFIX, BRANCH_PREFIX))
    ]  # fmt: skip
