"""The local forge's bare mirror of a repository; nothing is ever pushed to where it came from."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import (
    BaseDiverged,
    BaseMissing,
    BaseReserved,
    GitFailed,
    PushLost,
    RemoteUnreadable,
    UnsafeName,
    UnsupportedRepository,
)
from app.repository.git import Completed, attempt, git
from app.repository.refs import Move, is_ancestor, move, tips
from app.repository.source import Source, is_file

_TRIES = 20
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\Z")
_FOLLOWED = "refs/fencepost/source/heads/"  #: the source's branches, as last fetched
_ALIGNED = "refs/fencepost/aligned/"  #: per base, the source's commit that it last followed

#: Checkouts borrow the mirror's objects, so nobody's git may ever prune here; a lock is waited for.
_SETTINGS = """\
[gc]
	auto = 0
	pruneExpire = never
[maintenance]
	auto = false
[receive]
	autogc = false
[core]
	filesRefLockTimeout = 5000
	packedRefsTimeout = 5000
[uploadpack]
	allowAnySHA1InWant = true
"""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare repository of ours, whole from the moment it has its name."""

    git_dir: Path


def open_mirror(forge: Path, repository_id: str) -> Mirror:
    """The mirror of a repository, made on first use; two makers at once get the same one."""
    if not _ID.match(repository_id):
        raise UnsafeName(f"{repository_id!r} cannot name a mirror")
    mirror = Mirror(forge / f"{repository_id}.git")
    if mirror.git_dir.is_dir():
        return mirror
    forge.mkdir(parents=True, exist_ok=True)
    draft = forge / f".{repository_id}.{secrets.token_hex(4)}"
    try:
        git("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(draft))
        with (draft / "config").open("a") as config:
            config.write(_SETTINGS)
        draft.rename(mirror.git_dir)
    except (OSError, GitFailed):  # somebody was first, or the disk is full
        shutil.rmtree(draft, ignore_errors=True)
        if not mirror.git_dir.is_dir():
            raise
    return mirror


def base_branch(source: Source) -> str:
    """The mirror's branch that requests on this base ask to be merged into."""
    return f"detached/{source.sha[:12]}" if source.is_detached else source.base


def refresh(mirror: Mirror, source: Source) -> str:
    """Fetch the source, let the mirror's base branch follow it, and return the base's commit.

    A base with merges of its own is kept until the source has them; a source that went another
    way meanwhile is BaseDiverged. A base without any follows wherever the source goes, rewritten
    history too. Refused as well: BaseMissing, and BaseReserved for a branch where ours are made.
    RemoteUnreadable when the source does not answer.
    """
    if base_branch(source) == "fencepost":
        raise BaseReserved(f"{source.name} has a branch called fencepost")
    _fetch(mirror, source, f"+refs/heads/*:{_FOLLOWED}*")
    if source.is_detached and not _holds(mirror, source.sha):
        _fetch(mirror, source, source.sha)
    for _ in range(_TRIES):
        try:
            return _follow(mirror, source)
        except PushLost:
            continue
    raise PushLost(f"{base_branch(source)} is moved by others again and again")


def _follow(mirror: Mirror, source: Source) -> str:
    branch = base_branch(source)
    base, aligned, followed = f"refs/heads/{branch}", _ALIGNED + branch, _FOLLOWED + source.base
    now = tips(mirror.git_dir, base, aligned, followed)
    theirs = source.sha if source.is_detached else now.get(followed)
    if theirs is None:
        raise BaseMissing(f"{source.url} has no branch {source.base} any more")
    ours = now.get(base)
    if ours == theirs == now.get(aligned):
        return theirs
    if ours is not None and _keeps_its_own(mirror, branch, ours, theirs, now.get(aligned)):
        return ours
    move(mirror.git_dir, [Move(base, ours, theirs), Move(aligned, now.get(aligned), theirs)])
    if ours is None:
        _point_head(mirror, base)
    return theirs


def _keeps_its_own(
    mirror: Mirror, branch: str, ours: str, theirs: str, aligned: str | None
) -> bool:
    if ours == aligned or is_ancestor(mirror.git_dir, ours, theirs):
        return False
    if is_ancestor(mirror.git_dir, theirs, ours):
        return True
    raise BaseDiverged(
        f"the forge merged up to {ours[:12]}, which the source's {theirs[:12]} does not hold",
        hint=f"merge the forge's base into the source: `{pull_command(mirror, branch)}`",
    )


def pull_command(mirror: Mirror, branch: str) -> str:
    """What people type in their clone to have what the forge merged."""
    return shlex.join(["git", "pull", "--no-rebase", str(mirror.git_dir), branch])


def _point_head(mirror: Mirror, base: str) -> None:
    """Let a clone of the mirror find a branch: its HEAD names one that exists."""
    if attempt("rev-parse", "--verify", "--quiet", "HEAD", git_dir=mirror.git_dir).code != 0:
        git("symbolic-ref", "HEAD", base, git_dir=mirror.git_dir)


def _holds(mirror: Mirror, sha: str) -> bool:
    return attempt("cat-file", "-e", f"{sha}^{{commit}}", git_dir=mirror.git_dir).code == 0


def _fetch(mirror: Mirror, source: Source, refspec: str) -> None:
    done = _fetch_once(mirror, source, refspec)
    for _ in range(_TRIES):
        if done.code == 0 or b"cannot lock ref" not in done.err:
            break
        done = _fetch_once(mirror, source, refspec)  # another refresh fetched the same refs first
    if b"shallow" in done.err:
        raise UnsupportedRepository(f"{source.url} has a shallow history")
    if b"not our ref" in done.err or b"unadvertised object" in done.err:
        raise BaseMissing(f"{source.url} does not hand out commit {source.sha}")
    if done.code != 0:
        raise RemoteUnreadable(f"{source.url} cannot be fetched: {done.complaint}")


def _fetch_once(mirror: Mirror, source: Source, refspec: str) -> Completed:
    prune = ["--prune"] if "*" in refspec else []
    return attempt(
        "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", *prune,
        "--", source.url, refspec,
        git_dir=mirror.git_dir, as_user=not is_file(source.url), timeout=3600,
        directory=Path(os.sep),
    )  # fmt: skip
