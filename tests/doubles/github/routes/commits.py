"""Commits and comparisons."""

from __future__ import annotations

from typing import Any

from doubles.github import plumbing
from doubles.github.access import require
from doubles.github.exchange import Answer, Call, Refused
from doubles.github.paging import page
from doubles.github.shapes import repository as shape
from doubles.github.world import Repository


def list_commits(call: Call) -> Answer:
    """The history of a branch, newest first."""
    repo = require(call, "contents", "read")
    start = call.request.query.get("sha", repo.default_branch)
    sha = plumbing.resolve(repo.git_dir, start)
    if sha is None:
        raise Refused(409 if start == repo.default_branch else 404, "Git Repository is empty.")
    found = plumbing.commits(repo.git_dir, sha)
    return page(call, repo, [shape.commit(call.github.url, repo, each) for each in found])


def get_commit(call: Call) -> Answer:
    """One, with the files that it changed."""
    repo = require(call, "contents", "read")
    sha = commit_of(repo, call.values["ref"])
    found = plumbing.commit(repo.git_dir, sha)
    rows = plumbing.changes(repo.git_dir, found.parents[0], sha) if found.parents else []
    added, removed = sum(row[1] for row in rows), sum(row[2] for row in rows)
    stats = {"additions": added, "deletions": removed, "total": added + removed}
    files = [changed(call, repo, sha, row) for row in rows]
    body = {**shape.commit(call.github.url, repo, found), "stats": stats, "files": files}
    return Answer(200, body)


def commit_of(repo: Repository, name: str) -> str:
    """The commit that a name means; 422 when none does."""
    sha = plumbing.resolve(repo.git_dir, name)
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {name}")
    return sha


def changed(call: Call, repo: Repository, sha: str, row: tuple[str, int, int]) -> dict[str, Any]:
    """A `diff-entry`."""
    path, added, removed = row
    html = f"{call.github.url}/{repo.full_name}"
    return {
        "sha": sha,
        "filename": path,
        "status": "modified",
        "additions": added,
        "deletions": removed,
        "changes": added + removed,
        "blob_url": f"{html}/blob/{sha}/{path}",
        "raw_url": f"{html}/raw/{sha}/{path}",
        "contents_url": f"{shape.api(call.github.url, repo)}/contents/{path}?ref={sha}",
    }


def get_git_commit(call: Call) -> Answer:
    """One as git has it."""
    repo = require(call, "contents", "read")
    sha = plumbing.resolve(repo.git_dir, call.values["commit_sha"])
    if sha is None:
        raise Refused(404, "Not Found")
    found = plumbing.commit(repo.git_dir, sha)
    return Answer(200, shape.git_commit(call.github.url, repo, found))


def compare(call: Call) -> Answer:
    """What the head has that the base has not."""
    repo = require(call, "contents", "read")
    names = [each.rpartition(":")[2] for each in call.values["basehead"].split("...")]
    if len(names) != 2 or any(call.github.hides("compare", repo, name) for name in names):
        raise Refused(404, "Not Found")
    base, head = (plumbing.resolve(repo.git_dir, name) for name in names)
    if base is None or head is None:
        raise Refused(404, "Not Found")
    middle = plumbing.merge_base(repo.git_dir, base, head)
    if middle is None:
        raise Refused(404, f"No common ancestor between {names[0]} and {names[1]}.")
    ahead = plumbing.count(repo.git_dir, f"{base}..{head}")
    behind = plumbing.count(repo.git_dir, f"{head}..{base}")
    state = ("diverged" if behind else "ahead") if ahead else ("behind" if behind else "identical")
    url, html = shape.api(call.github.url, repo), f"{call.github.url}/{repo.full_name}"
    found = plumbing.commits(repo.git_dir, f"{base}..{head}")[::-1]
    one = call.github.url, repo
    basehead = f"compare/{names[0]}...{names[1]}"
    body = {
        "url": f"{url}/{basehead}",
        "html_url": f"{html}/{basehead}",
        "permalink_url": f"{html}/compare/{base[:7]}...{head[:7]}",
        "diff_url": f"{html}/{basehead}.diff",
        "patch_url": f"{html}/{basehead}.patch",
        "base_commit": shape.commit(*one, plumbing.commit(repo.git_dir, base)),
        "merge_base_commit": shape.commit(*one, plumbing.commit(repo.git_dir, middle)),
        "status": state,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": [shape.commit(*one, each) for each in found],
        "files": [
            changed(call, repo, head, row) for row in plumbing.changes(repo.git_dir, middle, head)
        ],
    }
    return Answer(200, body)


REPO = "/repos/{owner}/{repo}"
ROUTES = [
    ("GET", f"{REPO}/git/commits/{{commit_sha}}", get_git_commit),
    ("GET", f"{REPO}/commits", list_commits),
    ("GET", f"{REPO}/commits/{{ref}}", get_commit),
    ("GET", f"{REPO}/compare/{{basehead}}", compare),
]
