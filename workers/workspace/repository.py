"""The two git folders of a checkout: the worker's private one and the agent's own (E01, E04)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from app.domain.errors import BaseMissing, RemoteUnreadable
from app.repository.git import attempt, git

#: Names git would not take are judged on the objects (E03), so the private folder lets them in.
_PRIVATE = "[core]\n\tprotectNTFS = false\n\tprotectHFS = false\n"
#: For agents that like to commit; what they commit is theirs alone.
_AGENT = "[user]\n\tname = agent\n\temail = agent@fencepost.invalid\n"


def make_private(git_dir: Path, remote: str, base: str, objects: Path | None) -> None:
    """Make the worker's private git folder and see to it that it has the base commit.

    Objects are shared through alternates; refs and locks never are. A base that the remote does
    not have is BaseMissing; a remote that does not answer is RemoteUnreadable.
    """
    git("init", "--quiet", "--bare", "--template=", _format_of(base), str(git_dir))
    _append(git_dir / "config", _PRIVATE)
    _share(git_dir, [objects] if objects else [])
    if not _has(git_dir, base):
        _fetch(git_dir, remote, base)
    # Fetches and pushes tell the remote what is here by refs.
    git("update-ref", "refs/fencepost/base", base, git_dir=git_dir)


def check_out(git_dir: Path, tree: Path, base: str) -> None:
    """Fill an empty folder with the base's files; submodules and LFS stay links and pointers."""
    git("read-tree", "--reset", "-u", base, git_dir=git_dir, work_tree=tree)


def make_agents(tree: Path, git_dir: Path, base: str, objects: Path | None) -> None:
    """Make the agent's own repository around a filled tree, with its head detached at the base.

    It knows nothing of the private folder but where the objects are, and its index is a copy, so
    that `git status` and `git diff` work at once.
    """
    git("init", "--quiet", "--template=", _format_of(base), str(tree))
    own = tree / ".git"
    _append(own / "config", _AGENT)
    shared = [objects] if objects else []
    if any((git_dir / "objects").glob("pack/*.pack")) or not shared:
        shared.append(git_dir / "objects")
    _share(own, shared)
    (own / "HEAD").write_text(base + "\n")
    if (git_dir / "index").exists():
        shutil.copy2(git_dir / "index", own / "index")  # its time tells git which stats to doubt


def _fetch(git_dir: Path, remote: str, base: str) -> None:
    quiet = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote)
    exact = attempt(*quiet, base, git_dir=git_dir)
    if exact.code == 0:
        return
    everything = attempt(*quiet, "+refs/heads/*:refs/fencepost/fetched/*", git_dir=git_dir)
    if everything.code != 0:
        raise RemoteUnreadable(everything.complaint)
    if not _has(git_dir, base):
        raise BaseMissing(f"no commit {base} at the remote")


def _has(git_dir: Path, commit: str) -> bool:
    return attempt("cat-file", "-e", f"{commit}^{{commit}}", git_dir=git_dir).code == 0


def _share(git_dir: Path, objects: Sequence[Path]) -> None:
    lines = "".join(f"{folder.resolve()}\n" for folder in objects)
    (git_dir / "objects" / "info").mkdir(exist_ok=True)
    (git_dir / "objects" / "info" / "alternates").write_text(lines)


def _append(config: Path, text: str) -> None:
    with config.open("a") as file:
        file.write(text)


def _format_of(commit: str) -> str:
    return "--object-format=" + ("sha256" if len(commit) == 64 else "sha1")
