"""Commits that the worker makes, never the agent (E04)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.repository.git import git


@dataclass(frozen=True, slots=True)
class Author:
    """Who a commit is by; all of it comes from the attempt, so the same tree is the same commit."""

    name: str
    email: str
    when: int  #: Unix seconds


def commit(git_dir: Path, tree: str, parents: Sequence[str], message: str, author: Author) -> str:
    """The commit of a tree, with one person and one time in both roles."""
    moment = f"@{author.when} +0000"
    signature = {
        "GIT_AUTHOR_NAME": author.name,
        "GIT_AUTHOR_EMAIL": author.email,
        "GIT_AUTHOR_DATE": moment,
        "GIT_COMMITTER_NAME": author.name,
        "GIT_COMMITTER_EMAIL": author.email,
        "GIT_COMMITTER_DATE": moment,
    }
    above = [option for parent in parents for option in ("-p", parent)]
    text = message.encode("utf-8", "replace")
    return git("commit-tree", tree, *above, "-F", "-", git_dir=git_dir, stdin=text, extra=signature)
