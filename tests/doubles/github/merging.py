"""Merging a request, as the button does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doubles.github import plumbing
from doubles.github.exchange import Refused
from doubles.github.world import Pull, Repository, User

if TYPE_CHECKING:
    from doubles.github.server import GitHub


def merge(github: GitHub, repo: Repository, pull: Pull, who: User, method: str = "merge") -> str:
    """Move the base branch to a commit that holds the head, and end the request as merged."""
    base = plumbing.branch(repo.git_dir, pull.base)
    assert base is not None
    try:
        tree = plumbing.git(repo.git_dir, "merge-tree", "--write-tree", base, pull.head_sha)
    except plumbing.GitFailed:
        raise Refused(405, "Pull Request is not mergeable") from None
    parents = [base] if method == "squash" else [base, pull.head_sha]
    above = [part for parent in parents for part in ("-p", parent)]
    message = f"{pull.title} (#{pull.number})"
    sha = plumbing.git(
        repo.git_dir, "commit-tree", tree.splitlines()[0], *above, "-m", message, who=who.login
    )
    plumbing.git(repo.git_dir, "update-ref", f"refs/heads/{pull.base}", sha, base)
    end_as_merged(github, repo, pull, who, sha)
    github.follow(repo)
    return sha


def end_as_merged(github: GitHub, repo: Repository, pull: Pull, who: User, sha: str) -> None:
    """Note who merged it and by which commit."""
    pull.merged_at, pull.merged_by, pull.merge_commit_sha = github.world.clock.now(), who, sha
    github.end(repo, pull)
