"""Reading git objects by the handful."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.domain.errors import GitFailed
from app.repository.git import attempt


def read_blobs(git_dir: Path, blobs: Iterable[str]) -> dict[str, bytes]:
    """The bytes of each blob, by its id, with one git process for all of them."""
    wanted = sorted(set(blobs))
    stdin = "".join(f"{blob}\n" for blob in wanted).encode()
    done = attempt("cat-file", "--batch", git_dir=git_dir, stdin=stdin)
    if done.code != 0:
        raise GitFailed(f"git cat-file: {done.complaint}")
    found: dict[str, bytes] = {}
    place = 0
    for blob in wanted:
        end = done.out.index(b"\n", place)
        head = done.out[place:end].split()
        if len(head) != 3 or head[1] != b"blob":
            raise GitFailed(f"not a blob here: {blob}")
        size = int(head[2])
        found[blob] = done.out[end + 1 : end + 1 + size]
        place = end + 1 + size + 1
    return found
