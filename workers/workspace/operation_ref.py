"""The operation ref: a chain of small commits by which the fence reaches the remote (PROTOCOL §2).

Nothing here decides. `read` says what is there, `write_mark` makes a commit, and the pushes move
the ref from exactly where it was read, or fail.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import assert_never

from app.domain.digest import digest, parse
from app.domain.errors import RemoteUnreadable, UnfitInput
from app.domain.identity import Claim, OperationId
from app.domain.operation import (
    Absent,
    Foreign,
    Mark,
    RemoteOperation,
    Tip,
    Unreadable,
    branch_of,
    ref_of,
)
from app.domain.operation_document import (
    OBSERVATION_FILE,
    OPERATION_FILE,
    read_document,
    write_document,
)
from app.domain.scope import prefixes
from app.repository.git import attempt, git
from app.repository.push import Move, push, reason_of, tips
from app.repository.remote import Remote, reach
from workers.workspace.blob import read_blobs
from workers.workspace.commit import Author, commit

#: The largest tree of a chain's commit that is worth reading.
_LARGEST = 16 * 1024 * 1024
_TRIES = 3


def read(git_dir: Path, remote: Remote, operation: OperationId) -> RemoteOperation:
    """What the remote says of an operation; its objects come into the private git folder."""
    reason = "the ref moved at every look"
    for _ in range(_TRIES):
        try:
            found = tips(git_dir, remote, [ref_of(operation), branch_of(operation)])
        except RemoteUnreadable as fault:
            return Unreadable(fault.message)
        if not found:
            return Absent()
        if len(found) > 1:
            return Foreign(found[ref_of(operation)], "a branch holds another chain of it")
        ((ref, sha),) = found.items()
        if not _is_here(git_dir, sha):
            fetched = reach(
                remote, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--",
                remote.address, ref, git_dir=git_dir,
            )  # fmt: skip
            if fetched.code != 0:
                reason = reason_of(fetched)
                continue
        if _is_here(git_dir, sha):
            return _judge(git_dir, ref, sha, operation)
    return Unreadable(reason)


def write_mark(
    git_dir: Path,
    operation: OperationId,
    claim: Claim,
    mark: Mark,
    parent: str | None,
    author: Author,
    *,
    observation: bytes | None = None,
    candidate: str | None = None,
) -> str:
    """Make the next commit of the chain, here alone; the same arguments give the same commit.

    `observation` is the canonical bytes of a result; `candidate` is its head commit when green.
    """
    if (mark is Mark.RESULT) != (observation is not None):
        raise UnfitInput("a result has an observation, and nothing else has one")
    files = {OPERATION_FILE: write_document(operation, claim, mark, observation, candidate)}
    if observation is not None:
        files[OBSERVATION_FILE] = observation
    above = [sha for sha in (parent, candidate) if sha is not None]
    title = f"fencepost: {mark.value} under fence {claim.fence}\n"
    return commit(git_dir, _tree(git_dir, files), above, title, author)


def push_mark(git_dir: Path, remote: Remote, ref: str, new: str, expected: str | None) -> None:
    """Move the operation ref; PushLost, PushRefused and RemoteUnreadable as `push` says."""
    push(git_dir, remote, [Move(ref, new, expected)])


def push_result(
    git_dir: Path,
    remote: Remote,
    ref: str,
    new: str,
    expected: str | None,
    branch: str | None,
    candidate: str | None,
) -> None:
    """Publish a result, and with it the candidate as a branch that must not exist: both or none."""
    moves = [Move(ref, new, expected)]
    if branch is not None and candidate is not None:
        moves.append(Move(f"refs/heads/{branch}", candidate, None))
    push(git_dir, remote, moves)


def branch_present(git_dir: Path, remote: Remote, branch: str) -> str | None:
    """The commit of the branch, or of another one whose name leaves no room for it."""
    wanted = f"refs/heads/{branch}"
    above = [f"refs/heads/{name}" for name in prefixes(branch)]
    found = tips(git_dir, remote, [*above, f"{wanted}/*"])
    for name in sorted(found):
        if name in above or name.startswith(f"{wanted}/"):
            return found[name]
    return None


def _judge(git_dir: Path, ref: str, sha: str, operation: OperationId) -> Tip | Foreign:
    try:
        return replace(_tip(git_dir, sha, operation), ref=ref)
    except UnfitInput as fault:
        return Foreign(sha, fault.message)


def _tip(git_dir: Path, sha: str, operation: OperationId) -> Tip:
    if git("cat-file", "-t", sha, git_dir=git_dir) != "commit":
        raise UnfitInput("not a commit")
    files = _files(git_dir, sha)
    document = read_document(files.pop(OPERATION_FILE, b""))
    if document.operation != operation:
        raise UnfitInput("of another operation")
    observation = files.pop(OBSERVATION_FILE, None)
    if files or (observation is None) != (document.mark is not Mark.RESULT):
        raise UnfitInput("files missing or too many")
    if observation is not None:
        parse(observation)
        if digest(observation) != document.observation_digest:
            raise UnfitInput("its observation has another digest")
    _check_parents(git_dir, sha, document.mark, document.candidate)
    return Tip(
        sha=sha,
        mark=document.mark,
        operation=operation,
        fence=document.fence,
        token_hash=document.token_hash,
        observation=observation,
        candidate=document.candidate,
    )


def _check_parents(git_dir: Path, sha: str, mark: Mark, candidate: str | None) -> None:
    parents = git("rev-parse", f"{sha}^@", git_dir=git_dir).split()
    if not _fit(mark, parents, candidate):
        raise UnfitInput(f"its parents are not those of a {mark.value} mark")


def _fit(mark: Mark, parents: list[str], candidate: str | None) -> bool:
    match mark:
        case Mark.STARTED:
            return not parents
        case Mark.GUARDED | Mark.CLOSED:  # without one where a person attested what is missing
            return len(parents) <= 1
        case Mark.RESULT:
            return bool(parents) and parents[1:] == ([candidate] if candidate else [])
        case _:
            assert_never(mark)


def _files(git_dir: Path, sha: str) -> dict[str, bytes]:
    listed = git("ls-tree", "-z", "--long", "--full-tree", sha, git_dir=git_dir)
    blobs: dict[str, str] = {}
    size = 0
    for line in listed.split("\0"):
        if not line:
            continue
        head, name = line.split("\t", 1)
        mode, kind, blob, length = head.split()
        if mode != "100644" or kind != "blob" or len(blobs) > 2:
            raise UnfitInput("files of another kind")
        size += int(length)
        blobs[name] = blob
    if size > _LARGEST:
        raise UnfitInput("too large")
    found = read_blobs(git_dir, blobs.values())
    return {name: found[blob] for name, blob in blobs.items()}


def _tree(git_dir: Path, files: dict[str, bytes]) -> str:
    entries = ""
    for name, content in files.items():
        blob = git("hash-object", "-w", "--stdin", git_dir=git_dir, stdin=content)
        entries += f"100644 blob {blob}\t{name}\0"
    return git("mktree", "-z", git_dir=git_dir, stdin=entries.encode())


def _is_here(git_dir: Path, sha: str) -> bool:
    return attempt("cat-file", "-e", sha, git_dir=git_dir).code == 0
