"""Keeping the worker's git folder as the worker made it, whatever a run did there (E04).

A run of the same user can write into it. Git would then read what to run from its configuration.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

_OURS = (
    "HEAD", "config", "shallow", "info/attributes", "info/sparse-checkout",
    "objects/info/alternates",
)  # fmt: skip
#: What git would follow if it were there; we never make any of these.
_NOBODYS = ("commondir", "config.worktree", "hooks", "info/grafts", "info/exclude", "worktrees")


def noted(git_dir: Path) -> Mapping[str, bytes | None]:
    """What decides how git behaves in a folder; None: nothing may be there."""
    found: dict[str, bytes | None] = dict.fromkeys((*_OURS, *_NOBODYS))
    for name in _OURS:
        if (git_dir / name).exists():
            found[name] = (git_dir / name).read_bytes()
    return found


def put_back(git_dir: Path, before: Mapping[str, bytes | None]) -> None:
    """Make it so again."""
    for name, content in before.items():
        file = git_dir / name
        if content is not None and file.is_file() and not file.is_symlink():
            if file.read_bytes() != content:
                file.write_bytes(content)
            continue
        _remove(file)
        if content is not None:
            if file.parent.is_symlink():
                file.parent.unlink()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _remove(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)
