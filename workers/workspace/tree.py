"""A working tree, and git's looks at it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.repository import git as command
from app.repository.git import Completed
from workers.workspace.tether import Tether


@dataclass(frozen=True, slots=True)
class Tree:
    """Files that somebody else wrote, read by a git folder of ours.

    Nothing about them bounds the time that it takes: each look ends with this process, and when
    `stop` is set, which is Interrupted. GitTooSlow after five minutes.
    """

    git_dir: Path
    root: Path
    stop: threading.Event
    group: int  #: of processes

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """As `app.repository.git.git`, beside the files."""
        return command.git(
            *arguments, git_dir=self.git_dir, work_tree=self.root, stdin=stdin,
            stop=self.stop, group=self.group,
        )  # fmt: skip

    def attempt(self, *arguments: str) -> Completed:
        """The same, whatever its exit code."""
        return command.attempt(
            *arguments, git_dir=self.git_dir, work_tree=self.root,
            stop=self.stop, group=self.group,
        )  # fmt: skip


@contextmanager
def looking(git_dir: Path, root: Path, stop: threading.Event) -> Iterator[Tree]:
    """The tree, to be looked at inside `with`."""
    with Tether() as tether:
        yield Tree(git_dir, root, stop, tether.group)
