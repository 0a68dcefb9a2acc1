"""Matching names against patterns, through git itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.domain.scope import prefixes
from app.repository.git import git


def matching(git_dir: Path, paths: Iterable[str], patterns: Sequence[str], blob: str) -> set[str]:
    """Those of the names that a pattern covers and none excludes; without one, everything.

    The names need not exist. `blob` is any object id of the repository's format.
    """
    left = sorted(set(paths))
    if not patterns:
        return set(left)
    found: set[str] = set()
    while left:
        # An index cannot hold `a` beside `a/b`; folders of other names wait for the next round.
        folders = {folder for path in left for folder in prefixes(path)[1:]}
        batch = [path for path in left if path not in folders]
        left = [path for path in left if path in folders]
        found |= _covered(git_dir, batch, patterns, blob)
    return found


def covers_any(git_dir: Path, tree: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern covers at least one file of a commit or tree."""
    with tempfile.TemporaryDirectory(dir=git_dir, prefix="match-") as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git("read-tree", tree, git_dir=git_dir, extra=index)
        return bool(git("ls-files", "-z", "--", *_magic(patterns), git_dir=git_dir, extra=index))


def _covered(git_dir: Path, paths: list[str], patterns: Sequence[str], blob: str) -> set[str]:
    entries = "".join(f"100644 {blob}\t{path}\0" for path in paths)
    with tempfile.TemporaryDirectory(dir=git_dir, prefix="match-") as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        stdin = entries.encode("utf-8", "surrogateescape")
        git("update-index", "-z", "--index-info", git_dir=git_dir, extra=index, stdin=stdin)
        out = git("ls-files", "-z", "--", *_magic(patterns), git_dir=git_dir, extra=index)
    return set(out.split("\0")) - {""}


def _magic(patterns: Sequence[str]) -> list[str]:
    return [
        f":(top,glob,exclude){pattern[1:]}" if pattern.startswith("!") else f":(top,glob){pattern}"
        for pattern in patterns
    ]
