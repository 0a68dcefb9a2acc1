"""The secrets that a candidate adds, read from its git objects in bounded memory (E09)."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from app import secrecy
from app.domain.errors import GitFailed
from app.domain.redaction import Redactor
from app.domain.scope import SUBMODULE_MODE
from app.repository.git import Interrupted, clean_environment, git

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Added:
    """A secret that a file tells more often than before."""

    path: str
    name: str  #: of the value, or of the shape
    is_held: bool  #: this worker holds the value; else it only looks like a secret


def added(git_dir: Path, base: str, tree: str, stop: threading.Event) -> Iterator[Added]:
    """Every secret that a changed file tells more often than it did before, once a file.

    Interrupted once `stop` is set: files may be large.
    """
    changed = list(_changed(git_dir, base, tree))
    if not changed:
        return
    reading = subprocess.Popen(
        ["git", "cat-file", "--batch"], env={**clean_environment(), "GIT_DIR": str(git_dir)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert reading.stdin is not None
        assert reading.stdout is not None
        for path, old, new in changed:
            after = _secrets(reading.stdin, reading.stdout, new, stop)
            if not after.values and not after.shapes:
                continue
            before = _secrets(reading.stdin, reading.stdout, old, stop)
            ours = _more(after.values, before.values)
            yield from (Added(path, name, is_held=True) for name in ours)
            if not ours:
                others = _more(after.shapes, before.shapes)
                yield from (Added(path, name, is_held=False) for name in others)
    finally:
        reading.kill()
        reading.communicate()


def _changed(git_dir: Path, base: str, tree: str) -> Iterator[tuple[str, str, str]]:
    """Path, blob before and blob after, of what is there after."""
    raw = git(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
        "--ignore-submodules=none", base, tree, "--", git_dir=git_dir,
    )  # fmt: skip
    fields = iter(raw.split("\0"))
    for head in fields:
        if not head.startswith(":"):
            return
        old_mode, new_mode, old, new, _ = head[1:].split(" ")
        path = next(fields)
        if SUBMODULE_MODE not in (old_mode, new_mode) and new.strip("0"):
            yield path, old, new


def _secrets(asks: IO[bytes], answers: IO[bytes], blob: str, stop: threading.Event) -> Redactor:
    """What a blob tells, read in pieces."""
    seen = secrecy.stream()
    if not blob.strip("0"):
        return seen
    asks.write(f"{blob}\n".encode())
    asks.flush()
    head = answers.readline().split()
    if len(head) != 3 or head[1] != b"blob":
        raise GitFailed(f"not a blob here: {blob}")
    left = int(head[2])
    while left:
        if stop.is_set():
            raise Interrupted
        piece = answers.read(min(_CHUNK, left))
        if not piece:
            raise GitFailed(f"git cat-file ended amid {blob}")
        left -= len(piece)
        seen.take(piece)
    answers.read(1)
    seen.end()
    return seen


def _more(after: Counter[str], before: Counter[str]) -> list[str]:
    return sorted(name for name, count in after.items() if count > before[name])
