"""Pull requests, issues and comments as the API shows them."""

from __future__ import annotations

from typing import Any

from doubles.github import plumbing
from doubles.github.shapes.account import user
from doubles.github.shapes.repository import api, label, repository
from doubles.github.world import Comment, Pull, Repository, stamp


def simple(base: str, repo: Repository, one: Pull, head_sha: str | None = None) -> dict[str, Any]:
    """A `pull-request-simple`; the head may be shown older than it is."""
    url = f"{api(base, repo)}/pulls/{one.number}"
    issue = f"{api(base, repo)}/issues/{one.number}"
    html = f"{base}/{repo.full_name}/pull/{one.number}"
    sha = head_sha or one.head_sha
    links = {
        "self": url,
        "html": html,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{api(base, repo)}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{api(base, repo)}/statuses/{sha}",
    }
    named = {f"{k}_url": links[k] for k in links if k not in {"self", "html"}}
    return {
        "url": url,
        "id": one.id,
        "node_id": f"PR_{one.id}",
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        **named,
        "number": one.number,
        "state": one.state,
        "locked": False,
        "title": one.title,
        "user": user(base, one.user),
        "body": one.body,
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.updated_at),
        "closed_at": stamp(one.closed_at),
        "merged_at": stamp(one.merged_at),
        "merge_commit_sha": one.merge_commit_sha,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [user(base, each) for each in one.reviewers],
        "requested_teams": [],
        "labels": [label(base, repo, each) for each in one.labels],
        "milestone": None,
        "draft": one.draft,
        "head": side(base, repo, one.head, sha),
        "base": side(base, repo, one.base, one.base_sha),
        "_links": {name: {"href": href} for name, href in links.items()},
        "author_association": "CONTRIBUTOR",
        "auto_merge": None,
        "active_lock_reason": None,
    }


def side(base: str, repo: Repository, branch: str, sha: str) -> dict[str, Any]:
    """The head or the base of a request."""
    return {
        "label": f"{repo.owner.login}:{branch}",
        "ref": branch,
        "sha": sha,
        "user": user(base, repo.owner),
        "repo": repository(base, repo),
    }


def full(base: str, repo: Repository, one: Pull, head_sha: str | None = None) -> dict[str, Any]:
    """A `pull-request`; whether it can be merged is not known at the first look."""
    rows = plumbing.changes(repo.git_dir, one.base_sha, one.head_sha)
    revisions = f"{one.base_sha}..{one.head_sha}"
    is_known = one.looks > 1 and one.state == "open"
    return {
        **simple(base, repo, one, head_sha),
        "merged": one.merged_at is not None,
        "mergeable": True if is_known else None,
        "rebaseable": True if is_known else None,
        "mergeable_state": "clean" if is_known else "unknown",
        "merged_by": one.merged_by and user(base, one.merged_by),
        "comments": sum(each.number == one.number for each in repo.comments.values()),
        "review_comments": 0,
        "maintainer_can_modify": one.maintainer_can_modify,
        "commits": plumbing.count(repo.git_dir, revisions),
        "additions": sum(row[1] for row in rows),
        "deletions": sum(row[2] for row in rows),
        "changed_files": len(rows),
    }


def issue(base: str, repo: Repository, one: Pull) -> dict[str, Any]:
    """An `issue`: every request is one."""
    url = f"{api(base, repo)}/issues/{one.number}"
    html = f"{base}/{repo.full_name}/pull/{one.number}"
    return {
        "url": url,
        "repository_url": api(base, repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": html,
        "id": one.id + 500000,
        "node_id": f"I_{one.id}",
        "number": one.number,
        "title": one.title,
        "user": user(base, one.user),
        "labels": [label(base, repo, each) for each in one.labels],
        "state": one.state,
        "locked": False,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": sum(each.number == one.number for each in repo.comments.values()),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.updated_at),
        "closed_at": stamp(one.closed_at),
        "author_association": "CONTRIBUTOR",
        "active_lock_reason": None,
        "draft": one.draft,
        "body": one.body,
        "pull_request": {
            "url": f"{api(base, repo)}/pulls/{one.number}",
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
        },
    }


def comment(base: str, repo: Repository, one: Comment) -> dict[str, Any]:
    """An `issue-comment`."""
    return {
        "id": one.id,
        "node_id": f"IC_{one.id}",
        "url": f"{api(base, repo)}/issues/comments/{one.id}",
        "html_url": f"{base}/{repo.full_name}/pull/{one.number}#issuecomment-{one.id}",
        "issue_url": f"{api(base, repo)}/issues/{one.number}",
        "body": one.body,
        "user": user(base, one.user),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.updated_at),
        "author_association": "CONTRIBUTOR",
        "performed_via_github_app": None,
    }
