"""Reading a bare repository by git's own plumbing; nothing is ever written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Neither the host's configuration nor a repository's hooks have a say; owned by whoever it is.
_ENVIRONMENT = {
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}
_SECONDS = 60


class Unreadable(Exception):
    """Git could not say; nothing follows from that."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A bare repository and its refs as of one reading."""

    git_dir: Path
    refs: dict[str, str] = field(repr=False)

    def blob(self, commit: str, name: str) -> bytes | None:
        """A file of a commit's tree; None without one."""
        code, said = _git(self.git_dir, "cat-file", "blob", f"{commit}:{name}")
        return said if code == 0 else None

    def names(self, commit: str) -> list[str]:
        """The files at the top of a commit's tree."""
        code, said = _git(self.git_dir, "ls-tree", "--name-only", commit)
        return said.decode("utf-8", "replace").splitlines() if code == 0 else []

    def chain(self, commit: str) -> Iterator[str]:
        """A commit and its first parents, the newest first."""
        code, said = _git(self.git_dir, "rev-list", "--first-parent", commit)
        yield from said.decode().split() if code == 0 else []

    def holds(self, newer: str, older: str) -> bool:
        """Whether the history of a commit holds another."""
        code, _ = _git(self.git_dir, "merge-base", "--is-ancestor", older, newer)
        return code == 0


def opened(git_dir: Path) -> Repository:
    """Read a repository's refs, or Unreadable."""
    code, said = _git(git_dir, "for-each-ref", "--format=%(objectname) %(refname)")
    if code != 0:
        raise Unreadable(f"{git_dir.name}: git ended with {code}")
    pairs = (line.split(" ", 1) for line in said.decode("utf-8", "surrogateescape").splitlines())
    return Repository(git_dir, {ref: sha for sha, ref in pairs})


def _git(git_dir: Path, *arguments: str) -> tuple[int, bytes]:
    if not git_dir.is_dir():
        raise Unreadable(f"{git_dir.name} is not there")
    environment = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT}
    try:
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", f"--git-dir={git_dir}", *arguments],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Unreadable(f"{git_dir.name}: {type(fault).__name__}") from fault
    return done.returncode, done.stdout
