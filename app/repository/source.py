"""What a run needs to know of the reader's repository: where it is, and where work starts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from app.domain.digest import text
from app.domain.errors import (
    BaseMissing,
    EmptyRepository,
    NotARepository,
    RemoteUnreadable,
    UnsupportedRepository,
)
from app.domain.pull_request import LOCAL_FORGE
from app.repository.address import is_url, plain, safe_url
from app.repository.git import Completed, attempt, git
from app.repository.remote import Access, Remote, reach

_NO_SUCH = re.compile(r"not found|not appear to be a git repository|not a git repository", re.I)
_SHA = re.compile(r"[0-9a-f]{40}\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """The reader's repository and the commit that work starts from; nothing is written to it."""

    url: str  #: absolute path, or the URL as given
    name: str  #: short, for people
    base: str  #: a branch, or the full sha where no branch was meant
    sha: str  #: of the base commit
    dirty: bool  #: the work tree holds what no commit holds
    forge: str = LOCAL_FORGE  #: where its requests live

    @property
    def is_detached(self) -> bool:
        """The base is a commit, not a branch."""
        return self.base == self.sha


def inspect(repository: str, base: str | None, access: Access | None = None) -> Source:
    """Look at a repository, by path (any folder of it) or URL, without changing it.

    Without `base` the current branch is meant, or HEAD's where there is no work tree. A name that
    is a branch and a tag means the branch. Refused: NotARepository, EmptyRepository, BaseMissing,
    UnsupportedRepository (SHA-256, shallow), and UnsafeName for what git would misunderstand.
    `access` lets git in at a URL, in the place of what the user's own configuration has for it.
    """
    plain("repository", repository)
    if base is not None:
        base = plain("base", base, hint=BaseMissing.hint).removeprefix("refs/heads/")
    if is_url(repository):
        return _remote(safe_url(repository), base, access)
    return _local(Path(repository), base)


def _local(path: Path, base: str | None) -> Source:
    if not path.is_dir() or not os.access(path, os.X_OK):
        raise NotARepository(f"{path} is not a folder that can be entered")
    probe = attempt(
        "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--show-object-format",
        "--absolute-git-dir", directory=path,
    )  # fmt: skip
    if probe.code != 0:
        raise NotARepository(f"{path} is not in a git repository: {probe.complaint}")
    inside, shallow, form, git_dir = probe.text.split("\n", 3)
    _check_form(str(path), form == "sha256", shallow == "true")
    if inside != "true":
        top = Path(git_dir)
        name = top.parent.name if top.name == ".git" else top.name
    else:
        top = Path(git("rev-parse", "--show-toplevel", directory=path))
        name = top.name
    branch, sha = _local_base(top, base)
    url = plain("repository path", str(top))
    return Source(url, _short(name), branch, sha, inside == "true" and _is_dirty(top))


def _local_base(top: Path, base: str | None) -> tuple[str, str]:
    name = base
    if name is None:
        head = attempt("symbolic-ref", "--quiet", "HEAD", directory=top)
        name = head.text.removeprefix("refs/heads/") if head.code == 0 else "HEAD"
    sha = _commit(top, f"refs/heads/{name}")
    if sha is not None:
        return plain("branch", name), sha
    sha = _commit(top, name) if base is not None or name == "HEAD" else None
    if sha is not None:
        return sha, sha
    if not git("for-each-ref", "--count=1", "refs/heads", directory=top):
        raise EmptyRepository(f"{top} has no commit yet")
    raise BaseMissing(f"{name} is neither a branch nor a commit of {top}")


def _commit(top: Path, name: str) -> str | None:
    found = attempt(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", directory=top
    )
    return found.text if found.code == 0 else None


def _is_dirty(top: Path) -> bool:
    """Whether there are changes; the repository's own filters and monitors are not run for it."""
    filters = attempt(
        "config", "--null", "--name-only", "--get-regexp",
        r"^filter\..*\.(clean|process|required)$", directory=top,
    )  # fmt: skip
    off = [
        option for name in sorted(set(filters.text.split("\0")) - {""})
        for option in ("-c", f"{name}={'false' if name.endswith('.required') else ''}")
    ]  # fmt: skip
    status = git(
        *off, "-c", "core.fsmonitor=false", "status", "--porcelain", "--ignore-submodules=dirty",
        "--no-renames", directory=top,
    )  # fmt: skip
    return status != ""


def _remote(url: str, base: str | None, access: Access | None) -> Source:
    wanted = ["HEAD", "refs/heads/*"] + ([f"refs/tags/{base}*"] if base else [])
    words = ("ls-remote", "--symref", "--", url, *wanted)
    if access is None:
        said = attempt(*words, as_user=not is_file(url), timeout=60)
    else:
        said = reach(Remote(url, access), *words, timeout=60)
    if said.code != 0:
        raise _unread(url, said)
    rows = [line.split("\t", 1) for line in said.text.splitlines() if "\t" in line]
    symbolic = {ref: value for value, ref in rows if value.startswith("ref: ")}
    tips = {ref: value for value, ref in rows if not value.startswith("ref: ")}
    _check_form(url, any(len(sha) == 64 for sha in tips.values()), shallow=False)
    if not tips:
        raise EmptyRepository(f"{url} has no commit yet")
    branch, sha = _remote_base(url, base, tips, symbolic.get("HEAD", "").removeprefix("ref: "))
    return Source(url, _short(re.split(r"[/:]", url.rstrip("/"))[-1]), branch, sha, dirty=False)


def _unread(url: str, said: Completed) -> NotARepository | RemoteUnreadable:
    """A remote that says no has no such repository; one that says nothing may answer later."""
    words = " ".join(said.err.decode("utf-8", "replace").split())[-300:]
    if is_file(url) or _NO_SUCH.search(words):
        return NotARepository(f"{url} cannot be read as a git repository: {words}")
    return RemoteUnreadable(f"{url} cannot be read: {words}")


def _remote_base(url: str, base: str | None, tips: dict[str, str], head: str) -> tuple[str, str]:
    name = base if base is not None else head.removeprefix("refs/heads/")
    if f"refs/heads/{name}" in tips:
        return plain("branch", name), tips[f"refs/heads/{name}"]
    if base is None or base == "HEAD":
        sha = tips.get("HEAD")
    elif _SHA.match(base):
        sha = base  # whether it is there shows when it is fetched
    else:
        sha = tips.get(f"refs/tags/{base}^{{}}") or tips.get(f"refs/tags/{base}")
    if sha is None:
        raise BaseMissing(f"{name or 'HEAD'} is neither a branch nor a commit of {url}")
    return sha, sha


def is_file(url: str) -> bool:
    """Whether an address is a folder of this machine, so that no credentials are needed."""
    return not is_url(url) or url.lower().startswith("file:")


def _check_form(where: str, sha256: bool, shallow: bool) -> None:
    if sha256:
        raise UnsupportedRepository(f"{where} uses SHA-256 objects, which forges do not serve yet")
    if shallow:
        raise UnsupportedRepository(
            f"{where} is a shallow clone: work on it could not be merged elsewhere",
            hint="fetch the whole history first: `git fetch --unshallow`",
        )


def _short(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text(name).removesuffix(".git")).strip("-.") or "repository"
