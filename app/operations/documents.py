"""What the tips of operation refs say, many at once."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import GitFailed, RemoteUnreadable, UnfitInput
from app.domain.operation_document import OPERATION_FILE, Document, read_document
from app.operations.place import Desk
from app.repository.git import attempt
from app.repository.push import reason_of
from app.repository.remote import reach

_SECONDS = 300


def read_documents(desk: Desk, commits: Sequence[str]) -> dict[str, Document | str]:
    """Each commit's document, or why it has none; RemoteUnreadable if they cannot be had."""
    missing = _missing(desk, commits)
    if missing:
        # of a result the first commit alone: behind it is the candidate, and all of its history
        done = reach(
            desk.remote, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1",
            "--", desk.remote.address, *missing, git_dir=desk.git_dir, timeout=_SECONDS,
        )  # fmt: skip
        if done.code != 0:
            raise RemoteUnreadable(reason_of(done))
    return dict(zip(commits, _read(desk, commits), strict=True))


def _missing(desk: Desk, commits: Sequence[str]) -> list[str]:
    asked = "".join(f"{sha}\n" for sha in commits).encode()
    done = attempt("cat-file", "--batch-check", git_dir=desk.git_dir, stdin=asked)
    if done.code != 0:
        raise GitFailed(f"git cat-file: {done.complaint}")
    return [line.split()[0] for line in done.text.splitlines() if line.endswith(" missing")]


def _read(desk: Desk, commits: Sequence[str]) -> list[Document | str]:
    asked = "".join(f"{sha}:{OPERATION_FILE}\n" for sha in commits).encode()
    done = attempt("cat-file", "--batch", git_dir=desk.git_dir, stdin=asked)
    if done.code != 0:
        raise GitFailed(f"git cat-file: {done.complaint}")
    found: list[Document | str] = []
    place = 0
    for _ in commits:
        end = done.out.index(b"\n", place)
        head = done.out[place:end].split()
        place = end + 1
        if len(head) != 3 or head[1] != b"blob":
            found.append(f"it has no {OPERATION_FILE}")
            continue
        size = int(head[2])
        found.append(_document(done.out[place : place + size]))
        place += size + 1
    return found


def _document(data: bytes) -> Document | str:
    try:
        return read_document(data)
    except UnfitInput as fault:
        return fault.message
