"""Reading what differs between two trees, from git objects alone."""

from __future__ import annotations

from pathlib import Path

from app.domain.scope import Change, ChangeKind
from app.repository.git import git

_KINDS = {
    "A": ChangeKind.ADDED,
    "D": ChangeKind.DELETED,
    "M": ChangeKind.MODIFIED,
    "R": ChangeKind.RENAMED,
    "T": ChangeKind.TYPE_CHANGED,
}


def read_changes(git_dir: Path, base: str, other: str, *, renames: bool) -> list[Change]:
    """Every path that differs between two commits or trees, in git's order.

    Without `renames` a renamed file shows as its two ends, which is what a scope is checked on.
    """
    follow = ("-M", "-l400") if renames else ("--no-renames",)
    # A `.gitmodules` of the tree may ask to hide links; an explicit option outranks it.
    raw = git(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--ignore-submodules=none",
        *follow, base, other, "--", git_dir=git_dir,
    )  # fmt: skip
    fields = iter(raw.split("\0"))
    changes = []
    for head in fields:
        if not head.startswith(":"):
            break
        old_mode, new_mode, old, new, status = head[1:].split(" ")
        first = next(fields)
        moved = status.startswith("R")
        kind = _KINDS[status[0]]
        if kind is ChangeKind.MODIFIED and old == new:
            kind = ChangeKind.MODE_CHANGED
        path, origin = (next(fields), first) if moved else (first, None)
        changes.append(Change(kind, path, origin, old_mode, new_mode))
    return changes
