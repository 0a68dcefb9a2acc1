"""The two git folders of a checkout: the worker's private one and the agent's own (E01, E04)."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.domain.errors import BaseMissing, GitCannotWrite, RemoteUnreadable
from app.domain.extent import WHOLE, Extent
from app.repository.git import Completed, attempt, git
from app.repository.remote import Remote, reach
from workers.workspace.narrowing import cut_history, last_of, narrow
from workers.workspace.tree import looking

#: Names git would not take are judged on the objects (E03), so the private folder lets them in.
_PRIVATE = "[core]\n\tprotectNTFS = false\n\tprotectHFS = false\n"
#: Files are bytes, here and in the commit: no attribute of the tree converts or filters them. It
#: outranks every `.gitattributes`, and keeps files that nobody touched from looking changed.
_ATTRIBUTES = "* -text !ident !filter !working-tree-encoding\n"
_SECONDS = 3600  #: a first fetch of a large history takes long
#: For agents that like to commit; what they commit is theirs alone.
_AGENT = "[user]\n\tname = agent\n\temail = agent@fencepost.invalid\n"


def make_bare(
    git_dir: Path, base: str, objects: Path | None, shallow: Sequence[str] = ()
) -> None:  # fmt: skip
    """Make the worker's private git folder, for objects of the base's format.

    Objects are shared through alternates; refs and locks never are. `shallow` are commits below
    which the shared objects hold no history.
    """
    git("init", "--quiet", "--bare", "--template=", _format_of(base), str(git_dir))
    _configure(git_dir, _PRIVATE)
    _share(git_dir, [objects] if objects else [])
    cut_history(git_dir, shallow)


def make_private(
    git_dir: Path, remote: Remote, base: str, objects: Path | None, shallow: Sequence[str] = (),
    stop: threading.Event | None = None,
) -> list[Path]:  # fmt: skip
    """The same with the base commit in it; the objects folders that hold that.

    A base that the remote does not have is BaseMissing; a remote that does not answer is
    RemoteUnreadable.
    """
    make_bare(git_dir, base, objects, shallow)
    sources = [objects] if objects else []
    if not has_commit(git_dir, base):
        fetch_commit(git_dir, remote, base, stop=stop)
        sources.append(git_dir / "objects")
    # Fetches and pushes tell the remote what is here by refs.
    git("update-ref", "refs/fencepost/base", base, git_dir=git_dir)
    return sources


def check_out(
    git_dir: Path, root: Path, base: str, folders: Sequence[str] = (), *, stop: threading.Event
) -> None:
    """Fill an empty folder with the base's files; submodules and LFS stay links and pointers.

    With folders only those, and the files beside and above them; the others stay in the index.
    """
    narrow(git_dir, folders)
    with looking(git_dir, root, stop) as tree:
        tree.git("read-tree", "--reset", "-u", base)


def make_agents(
    tree: Path, git_dir: Path, base: str, sources: Sequence[Path], extent: Extent = WHOLE
) -> None:
    """Make the agent's own repository around a filled tree, with its head detached at the base.

    It borrows the objects of `sources`, shows as much history as was asked for, and its index is
    a copy of the private one, so that `git status` and `git diff` work at once.
    """
    git("init", "--quiet", "--template=", _format_of(base), str(tree))
    own = tree / ".git"
    _configure(own, _AGENT)
    _share(own, sources)
    narrow(own, extent.folders)
    shallow = (git_dir / "shallow").read_text().split() if (git_dir / "shallow").exists() else []
    if extent.depth is not None:
        shallow += last_of(git_dir, base, extent.depth)
    cut_history(own, shallow)
    (own / "HEAD").write_text(base + "\n")
    # with its time, by which git knows which stats to doubt
    shutil.copy2(git_dir / "index", own / "index")


def fetch_commit(
    git_dir: Path, remote: Remote, base: str, *, depth: int | None = None,
    extra: Mapping[str, str] | None = None, stop: threading.Event | None = None,
) -> None:  # fmt: skip
    """Bring a commit and its history in, or so many commits of it; BaseMissing, RemoteUnreadable.

    GitCannotWrite: this host has no room for them.
    """
    deep = () if depth is None else (f"--depth={depth}",)
    quiet = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", *deep, "--", remote.address)

    def fetch(what: str) -> Completed:
        return reach(
            remote, *quiet, what, git_dir=git_dir, timeout=_SECONDS, extra=extra, stop=stop
        )

    exact = fetch(base)
    if exact.code == 0:
        return
    _heed_the_host(exact)
    everything = fetch("+refs/heads/*:refs/fencepost/fetched/*")
    if everything.code != 0:
        _heed_the_host(everything)
        raise RemoteUnreadable(everything.complaint)
    if not has_commit(git_dir, base):
        raise BaseMissing(f"no commit {base} at the remote")


def _heed_the_host(done: Completed) -> None:
    if done.is_hosts_fault:
        raise GitCannotWrite(f"git fetch: {done.complaint}")


def has_commit(git_dir: Path, commit: str) -> bool:
    """Whether a git folder holds a commit."""
    return attempt("cat-file", "-e", f"{commit}^{{commit}}", git_dir=git_dir).code == 0


def _share(git_dir: Path, objects: Sequence[Path]) -> None:
    lines = "".join(f"{folder.resolve()}\n" for folder in objects)
    (git_dir / "objects" / "info").mkdir(exist_ok=True)
    (git_dir / "objects" / "info" / "alternates").write_text(lines)


def _configure(git_dir: Path, text: str) -> None:
    with (git_dir / "config").open("a") as config:
        config.write(text)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text(_ATTRIBUTES)


def _format_of(commit: str) -> str:
    return "--object-format=" + ("sha256" if len(commit) == 64 else "sha1")
