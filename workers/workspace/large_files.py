"""Large files of Git LFS in a checkout, where they are allowed: contents in place of pointers.

git-lfs is called once, by us, with an address of ours. Neither a filter nor `.lfsconfig` of the
repository has a say, and every content is held against its pointer before it is used (E04, S03).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import RemoteUnreadable, SetupError, UnsupportedRepository
from app.repository.git import git
from app.repository.remote import Remote, reach
from app.repository.source import is_file as is_local
from workers.workspace.beyond import LargeFile, digest_of, is_file, native, traits_of
from workers.workspace.blob import read_blobs
from workers.workspace.checkout import Checkout
from workers.workspace.commit import Author, commit

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*"
    rb"oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n"
)
_LONGEST_POINTER = 1024
_SECONDS = 3600
_SHOWN = 1000  #: signs of what git-lfs complains of
_NOBODY = Author("Fencepost", "fencepost@localhost", 0)


class LfsMissing(SetupError):
    """Large files are asked for, and this host has no git-lfs."""

    code = "lfs_missing"
    hint = "install git-lfs where the workers run, or leave out --lfs"


@dataclass(frozen=True, slots=True)
class Pointer:
    """What a commit holds in the place of a large file."""

    oid: str  #: hex SHA-256 of the content
    size: int  #: bytes
    blob: str  #: of the pointer itself


def fill(checkout: Checkout, remote: Remote, source: str) -> None:
    """Put the contents where the tree has pointers.

    LfsMissing without git-lfs; RemoteUnreadable where a content is not to be had;
    UnsupportedRepository for an address that has no large files.
    """
    tree, git_dir = checkout.tree, checkout.git_dir
    found = _pointers(git_dir, checkout.base)
    wanted = {path: one for path, one in found.items() if is_file(tree / native(path))}
    if not wanted:
        return
    if shutil.which("git-lfs") is None:
        raise LfsMissing(f"{len(wanted)} large files, and no git-lfs on PATH")
    store = git_dir / "lfs"  # its own choice; told so it would look there at the source, too
    _fetch(checkout, remote, endpoint_of(source), wanted)
    for path, pointer in wanted.items():
        place = tree / native(path)
        _put(store, pointer, place, path)
        checkout.beyond.large[path] = LargeFile(pointer.oid, traits_of(place))
    shutil.rmtree(store)
    # the agent's own git would see a change in each
    names = "".join(f"{path}\0" for path in wanted).encode("utf-8", "surrogateescape")
    git("update-index", "--assume-unchanged", "-z", "--stdin", git_dir=tree / ".git",
        work_tree=tree, stdin=names)  # fmt: skip


def endpoint_of(source: str) -> str:
    """Where git-lfs finds the large files of a repository."""
    if is_local(source):
        return source if source.startswith("file:") else f"file://{source}"
    if not source.startswith(("https://", "http://")):
        raise UnsupportedRepository(f"large files are fetched by https, and not from {source}")
    return f"{source.rstrip('/').removesuffix('.git')}.git/info/lfs"


def _pointers(git_dir: Path, base: str) -> Mapping[str, Pointer]:
    small: dict[str, str] = {}
    for row in git("ls-tree", "-r", "-l", "-z", "--full-tree", base, git_dir=git_dir).split("\0"):
        head, _, path = row.partition("\t")
        mode, *_, blob, size = head.split() or [""] * 4
        if mode.startswith("100") and int(size) <= _LONGEST_POINTER:
            small[path] = blob
    contents = read_blobs(git_dir, small.values())
    found = {path: _POINTER.fullmatch(contents[blob]) for path, blob in small.items()}
    return {
        path: Pointer(match[1].decode(), int(match[2]), small[path])
        for path, match in found.items()
        if match is not None
    }


def _fetch(
    checkout: Checkout, remote: Remote, endpoint: str, wanted: Mapping[str, Pointer]
) -> None:
    """By a commit that names what is wanted and nothing else, attributes least of all."""
    git_dir = checkout.git_dir
    rows = {f"100644 blob {one.blob}\t{one.oid}\n" for one in wanted.values()}
    tree = git("mktree", git_dir=git_dir, stdin="".join(sorted(rows)).encode())
    named = commit(git_dir, tree, [], "large files", _NOBODY)
    settings = {
        "lfs.url": endpoint, "lfs.basictransfersonly": "true",
        "lfs.fetchinclude": "", "lfs.fetchexclude": "", "lfs.skipdownloaderrors": "false",
    }  # fmt: skip
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    done = reach(
        remote, *words, "lfs", "fetch", endpoint, named,
        git_dir=git_dir, timeout=_SECONDS, stop=checkout.stop,
    )  # fmt: skip
    if done.code != 0:
        said = done.err.decode("utf-8", "replace").split("\n")
        lines = "; ".join(line.strip() for line in said if line.strip())  # the last tells less
        raise RemoteUnreadable(f"git lfs fetch: {lines[:_SHOWN] or done.complaint}")


def _put(store: Path, pointer: Pointer, place: Path, path: str) -> None:
    content = store / "objects" / pointer.oid[:2] / pointer.oid[2:4] / pointer.oid
    if not is_file(content) or digest_of(content) != pointer.oid:
        raise RemoteUnreadable(f"the large file {path} is not to be had, or is another one")
    shutil.copyfile(content, place)
