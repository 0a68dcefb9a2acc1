"""Repositories, branches, refs and commits as the API shows them."""

from __future__ import annotations

from typing import Any

from doubles.github import plumbing
from doubles.github.access import holds
from doubles.github.shapes.account import user
from doubles.github.world import Repository, Token, stamp

#: url names, and what follows the repository's own url
LINKS = {
    "archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}",
    "blobs": "/git/blobs{/sha}", "branches": "/branches{/branch}",
    "collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}",
    "commits": "/commits{/sha}", "compare": "/compare/{base}...{head}",
    "contents": "/contents/{+path}", "contributors": "/contributors",
    "deployments": "/deployments", "downloads": "/downloads", "events": "/events",
    "forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}",
    "git_tags": "/git/tags{/sha}", "hooks": "/hooks",
    "issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}",
    "issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}",
    "languages": "/languages", "merges": "/merges", "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}", "pulls": "/pulls{/number}",
    "releases": "/releases{/id}", "stargazers": "/stargazers", "statuses": "/statuses/{sha}",
    "subscribers": "/subscribers", "subscription": "/subscription", "tags": "/tags",
    "teams": "/teams", "trees": "/git/trees{/sha}",
}  # fmt: skip


def api(base: str, one: Repository) -> str:
    """The repository's own address in the API."""
    return f"{base}/api/v3/repos/{one.full_name}"


def minimal(base: str, one: Repository) -> dict[str, Any]:
    """A `minimal-repository`."""
    return {
        "id": one.id,
        "node_id": f"R_{one.id}",
        "name": one.name,
        "full_name": one.full_name,
        "private": one.private,
        "owner": user(base, one.owner),
        "html_url": f"{base}/{one.full_name}",
        "description": None,
        "fork": False,
        "url": api(base, one),
        **{f"{name}_url": f"{api(base, one)}{rest}" for name, rest in LINKS.items()},
    }


def repository(base: str, one: Repository, token: Token | None = None) -> dict[str, Any]:
    """A `repository`."""
    open_pulls = sum(pull.state == "open" for pull in one.pulls.values())
    is_writer = holds(token, one, "contents", "write")
    return {
        **minimal(base, one),
        "git_url": f"git://{base.partition('://')[2]}/{one.full_name}.git",
        "ssh_url": f"git@{base.partition('://')[2]}:{one.full_name}.git",
        "clone_url": f"{base}/{one.full_name}.git",
        "svn_url": f"{base}/{one.full_name}",
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "forks_count": 0,
        "forks": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "watchers": 0,
        "size": 1,
        "default_branch": one.default_branch,
        "open_issues_count": open_pulls,
        "open_issues": open_pulls,
        "is_template": False,
        "topics": [],
        "has_issues": True,
        "has_projects": False,
        "has_wiki": False,
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": False,
        "archived": False,
        "disabled": False,
        "visibility": "private" if one.private else "public",
        "pushed_at": stamp(one.pushed_at),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.pushed_at),
        "license": None,
        "permissions": {
            "admin": False,
            "maintain": False,
            "push": is_writer,
            "triage": is_writer,
            "pull": True,
        },
    }


def full(base: str, one: Repository, token: Token | None) -> dict[str, Any]:
    """A `full-repository`."""
    return {
        **repository(base, one, token),
        "allow_rebase_merge": True,
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_auto_merge": False,
        "delete_branch_on_merge": False,
        "subscribers_count": 0,
        "network_count": 0,
    }


def commit(base: str, one: Repository, found: plumbing.Commit) -> dict[str, Any]:
    """A `commit`, without its files."""
    url, html = f"{api(base, one)}/commits/{found.sha}", f"{base}/{one.full_name}/commit"
    return {
        "sha": found.sha,
        "node_id": f"C_{found.sha}",
        "commit": {
            "author": vars(found.author),
            "committer": vars(found.committer),
            "message": found.message,
            "tree": {"sha": found.tree, "url": f"{api(base, one)}/git/trees/{found.tree}"},
            "url": f"{api(base, one)}/git/commits/{found.sha}",
            "comment_count": 0,
            "verification": unverified(),
        },
        "url": url,
        "html_url": f"{html}/{found.sha}",
        "comments_url": f"{url}/comments",
        "author": None,
        "committer": None,
        "parents": [parent(base, one, sha) for sha in found.parents],
    }


def unverified() -> dict[str, Any]:
    """The `verification` of a commit without a signature."""
    nothing = {"signature": None, "payload": None, "verified_at": None}
    return {"verified": False, "reason": "unsigned", **nothing}


def parent(base: str, one: Repository, sha: str) -> dict[str, Any]:
    """A commit by name alone."""
    html = f"{base}/{one.full_name}/commit/{sha}"
    return {"sha": sha, "url": f"{api(base, one)}/commits/{sha}", "html_url": html}


def git_commit(base: str, one: Repository, found: plumbing.Commit) -> dict[str, Any]:
    """A `git-commit`."""
    return {
        "sha": found.sha,
        "node_id": f"C_{found.sha}",
        "url": f"{api(base, one)}/git/commits/{found.sha}",
        "html_url": f"{base}/{one.full_name}/commit/{found.sha}",
        "author": vars(found.author),
        "committer": vars(found.committer),
        "tree": {"sha": found.tree, "url": f"{api(base, one)}/git/trees/{found.tree}"},
        "message": found.message,
        "parents": [parent(base, one, sha) for sha in found.parents],
        "verification": unverified(),
    }


def ref(base: str, one: Repository, name: str, sha: str) -> dict[str, Any]:
    """A `git-ref`."""
    return {
        "ref": name,
        "node_id": f"REF_{name}",
        "url": f"{api(base, one)}/git/{name}",
        "object": {
            "sha": sha,
            "type": "commit",
            "url": f"{api(base, one)}/git/commits/{sha}",
        },
    }


def label(base: str, one: Repository, name: str) -> dict[str, Any]:
    """A `label`."""
    number = one.labels[name]
    return {
        "id": number,
        "node_id": f"LA_{number}",
        "url": f"{api(base, one)}/labels/{name}",
        "name": name,
        "description": "",
        "color": "ededed",
        "default": False,
    }
