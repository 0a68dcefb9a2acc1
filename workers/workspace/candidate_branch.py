"""The candidate's branch where the remote takes no mark: one push, and how it is known again.

The commit's trailers name operation and claim, so that no two claims make the same commit, and a
branch that is there is ours or it is not (PROTOCOL §7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import GitFailed, RemoteUnreadable
from app.domain.identity import Claim, OperationId
from app.domain.operation import Unreadable, branch_of, ref_of
from app.domain.recovery_without_ref import Marked, NoBranch, Published, RemoteBranch, Stray
from app.domain.scope import prefixes
from app.repository.git import attempt
from app.repository.push import Move, push, reason_of, tips
from app.repository.remote import Remote, reach
from workers.workspace.repository import has_commit

_HEADS = "refs/heads/"
_OPERATION = "Fencepost-Operation"
_CLAIM = "Fencepost-Claim"


@dataclass(frozen=True, slots=True)
class Refs:
    """What one look at the remote showed of an operation and its branch."""

    mark: str | None = None  #: a ref that holds a mark after all
    at: str | None = None  #: the branch's commit
    shadow: str | None = None  #: the commit of another branch that leaves its name no room


def trailers(operation: OperationId, claim: Claim) -> str:
    """The last lines of the commit's message."""
    return f"{_OPERATION}: {operation}\n{_CLAIM}: {claim.fence} {claim.token_hash}\n"


def look_at(
    git_dir: Path, remote: Remote, operation: OperationId, branch: str | None
) -> Refs | Unreadable:
    """Read every ref that matters, at once."""
    marks = [ref_of(operation), branch_of(operation)]
    above = [f"{_HEADS}{name}" for name in prefixes(branch)] if branch else []
    below = f"{_HEADS}{branch}/"
    try:
        found = tips(git_dir, remote, [*marks, *above, *([f"{below}*"] if branch else [])])
    except RemoteUnreadable as fault:
        return Unreadable(fault.message)
    taken = {name: sha for name, sha in found.items() if name in above or name.startswith(below)}
    at = taken.pop(f"{_HEADS}{branch}", None)
    mark = next((name for name in marks if name in found), None)
    return Refs(mark, at, next(iter(taken.values()), None))


def judge(
    git_dir: Path, remote: Remote, operation: OperationId, branch: str | None,
    seen: Refs | Unreadable, payloads: Mapping[str, bytes],
) -> RemoteBranch:  # fmt: skip
    """What that proves, given the payloads by the candidate that each names.

    They are read after the look: each was kept before its push. What people pushed on top takes
    nothing away from what was published.
    """
    match seen:
        case Unreadable():
            return seen
        case Refs(mark=str(mark)):
            return Marked(mark)
        case Refs(at=str(sha)):
            if sha in payloads:
                return Published(payloads[sha], sha)
            try:
                return _below(git_dir, remote, operation, f"{_HEADS}{branch}", sha, payloads)
            except GitFailed as fault:
                return Unreadable(fault.message)
        case Refs(shadow=str(sha)):
            return Stray(sha, is_ours=False)
        case _:
            return NoBranch()


def push_candidate(git_dir: Path, remote: Remote, branch: str, candidate: str) -> None:
    """Make the branch, which must not exist; PushLost, PushRefused and RemoteUnreadable."""
    push(git_dir, remote, [Move(f"{_HEADS}{branch}", candidate, None)])


def _below(
    git_dir: Path, remote: Remote, operation: OperationId, ref: str, sha: str,
    payloads: Mapping[str, bytes],
) -> RemoteBranch:  # fmt: skip
    """The newest commit is none that we pushed: perhaps one below it is."""
    if not has_commit(git_dir, sha):
        done = reach(
            remote, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--",
            remote.address, ref, git_dir=git_dir,
        )  # fmt: skip
        if done.code != 0 or not has_commit(git_dir, sha):
            return Unreadable(reason_of(done) if done.code else f"{ref} moved at the look")
    for candidate, observation in payloads.items():
        if _holds(git_dir, sha, candidate):
            return Published(observation, candidate)
    return Stray(sha, is_ours=_names(git_dir, sha, operation))


def _holds(git_dir: Path, sha: str, candidate: str) -> bool:
    known = has_commit(git_dir, candidate)
    return (
        known and attempt("merge-base", "--is-ancestor", candidate, sha, git_dir=git_dir).code == 0
    )


def _names(git_dir: Path, sha: str, operation: OperationId) -> bool:
    wanted = f"--format=%(trailers:key={_OPERATION},valueonly)"
    done = attempt("log", "-1", wanted, sha, git_dir=git_dir)
    return done.code == 0 and operation in done.text.split()
