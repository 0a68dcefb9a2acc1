"""Submodules in a checkout, where they are allowed: to be read, and in no commit of ours (S03)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import BaseMissing, RemoteUnreadable, UnsupportedRepository
from app.domain.scope import SUBMODULE_MODE
from app.repository.git import attempt, git
from app.repository.remote import Remote
from app.repository.source import is_file
from app.repository.submodule import address_of
from workers.workspace.beyond import Submodule, is_folder, native
from workers.workspace.cache import Cache
from workers.workspace.checkout import Checkout
from workers.workspace.repository import check_out, make_private

_MOST_LEVELS = 5
_MOST = 200
_DESCRIBED = r"^submodule\..*\.(path|url)$"


@dataclass(frozen=True, slots=True)
class Stranger:
    """How git goes to an address that a repository named: with no credential, and not by file."""

    is_local: bool

    def environment(self) -> Mapping[str, str]:
        """What such a git is told."""
        ways = "file:http:https:ssh:git" if self.is_local else "http:https:ssh:git"
        return {"GIT_ALLOW_PROTOCOL": ways, "GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}

    def renew(self) -> bool:
        """There is nothing to renew."""
        return False


def fill(checkout: Checkout, source: str, caches: Path) -> None:
    """Fetch every submodule of the base that has a folder in the tree, and theirs in turn.

    UnsafeName for an address that is not allowed; RemoteUnreadable and BaseMissing for one that
    does not have the commit; UnsupportedRepository for too many.
    """
    _fill(checkout, caches, _Around(checkout.git_dir, checkout.base, source))


@dataclass(frozen=True, slots=True)
class _Around:
    """The repository around submodules."""

    git_dir: Path
    commit: str
    source: str  #: where it came from
    path: str = ""  #: in the checkout's tree, with a slash behind it
    level: int = 0


def _fill(checkout: Checkout, caches: Path, around: _Around) -> None:
    addresses = _addresses(around.git_dir, around.commit)
    filled = checkout.beyond.submodules
    for link, commit in _links(around.git_dir, around.commit):
        path = around.path + link
        place = checkout.tree / native(path)
        url = addresses.get(link)
        if url is None or not is_folder(place) or any(place.iterdir()):
            continue  # nobody says where it is, or it is not checked out
        if around.level == _MOST_LEVELS or len(filled) == _MOST:
            raise UnsupportedRepository(f"{path}: too many submodules, one in another or beside it")
        address = address_of(url, around.source)
        remote = Remote(address, Stranger(is_file(around.source)))
        try:
            git_dir = _fetch(checkout, caches, remote, commit)
        except (RemoteUnreadable, BaseMissing) as fault:
            raise type(fault)(f"submodule {path}: {fault.message}") from fault
        check_out(git_dir, place, commit, stop=checkout.stop)
        filled[path] = Submodule(git_dir, commit)
        _fill(checkout, caches, _Around(git_dir, commit, address, f"{path}/", around.level + 1))


def _fetch(checkout: Checkout, caches: Path, remote: Remote, commit: str) -> Path:
    name = hashlib.sha256(remote.address.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    cache = checkout.borrow(Cache(caches, f"submodule-{name}"))
    cache.bring(remote, commit, depth=1, stop=checkout.stop)
    git_dir = checkout.root / "modules" / str(len(checkout.beyond.submodules))
    git_dir.parent.mkdir(mode=0o700, exist_ok=True)
    make_private(git_dir, remote, commit, cache.objects, cache.shallow, checkout.stop)
    return git_dir


def _addresses(git_dir: Path, commit: str) -> Mapping[str, str]:
    """What the commit's `.gitmodules` says, by path; a link of that name says nothing."""
    row = git("ls-tree", commit, "--", ".gitmodules", git_dir=git_dir)
    if not row.startswith("100"):
        return {}
    asked = ("config", f"--blob={commit}:.gitmodules", "--null", "--get-regexp", _DESCRIBED)
    said: dict[str, dict[str, str]] = {}
    for entry in attempt(*asked, git_dir=git_dir).text.split("\0"):
        key, _, value = entry.partition("\n")
        name, _, what = key.rpartition(".")
        said.setdefault(name, {})[what] = value
    return {
        one["path"].rstrip("/"): one["url"]
        for one in said.values()
        if "path" in one and "url" in one
    }


def _links(git_dir: Path, commit: str) -> Iterator[tuple[str, str]]:
    for row in git("ls-tree", "-r", "-z", "--full-tree", commit, git_dir=git_dir).split("\0"):
        if row.startswith(SUBMODULE_MODE):
            head, path = row.split("\t", 1)
            yield path, head.split(" ")[2]
