"""Commit statuses: the latest of each context counts."""

from __future__ import annotations

from doubles.github import plumbing
from doubles.github.access import actor, require
from doubles.github.exchange import Answer, Call, Refused, invalid
from doubles.github.paging import page
from doubles.github.shapes.check import simple_status
from doubles.github.shapes.check import status as shape
from doubles.github.shapes.repository import api, minimal
from doubles.github.world import Repository, Status

STATES = ("error", "failure", "pending", "success")


def create_status(call: Call) -> Answer:
    """Add one; earlier ones of its context stay in the list and no longer count."""
    repo = require(call, "statuses", "write")
    fields, sha = call.request.fields(), call.values["sha"]
    if plumbing.resolve(repo.git_dir, sha) != sha:
        raise Refused(422, f"No commit found for SHA: {sha}")
    if fields.get("state") not in STATES:
        raise invalid("Status", "State is not included in the list", field="state")
    description = fields.get("description")
    if description is not None and len(description) > 140:
        raise invalid("Status", "description is too long (maximum is 140 characters)")
    one = call.github.add_status(
        repo, sha, fields["state"], fields.get("context") or "default",
        description, fields.get("target_url"), actor(call),
    )  # fmt: skip
    body = shape(call.github.url, repo, one)
    return Answer(201, body, {"Location": body["url"]}, stored=True)


def list_statuses(call: Call) -> Answer:
    """Every one of a commit, newest first."""
    repo = require(call, "statuses", "read")
    sha = commit_of(repo, call)
    found = [each for each in reversed(repo.statuses) if each.sha == sha]
    return page(call, repo, [shape(call.github.url, repo, each) for each in found])


def commit_of(repo: Repository, call: Call) -> str:
    """The commit of the path; 404 when there is none."""
    sha = plumbing.resolve(repo.git_dir, call.values["ref"])
    if sha is None:
        raise Refused(404, "Not Found")
    return sha


def combined(call: Call) -> Answer:
    """The latest of each context, and the worst of them."""
    repo = require(call, "statuses", "read")
    sha, base = commit_of(repo, call), call.github.url
    latest: dict[str, Status] = {}
    for each in repo.statuses:
        if each.sha == sha:
            latest.pop(each.context, None)
            latest[each.context] = each
    states = {each.state for each in latest.values()}
    worst = "failure" if states & {"error", "failure"} else "pending"
    body = {
        "state": "success" if states == {"success"} else worst,
        "statuses": [simple_status(base, repo, each) for each in latest.values()],
        "sha": sha,
        "total_count": len(latest),
        "repository": minimal(base, repo),
        "commit_url": f"{api(base, repo)}/commits/{sha}",
        "url": f"{api(base, repo)}/commits/{sha}/status",
    }
    return Answer(200, body)


REPO = "/repos/{owner}/{repo}"
ROUTES = [
    ("POST", f"{REPO}/statuses/{{sha}}", create_status),
    ("GET", f"{REPO}/commits/{{ref}}/statuses", list_statuses),
    ("GET", f"{REPO}/statuses/{{ref}}", list_statuses),
    ("GET", f"{REPO}/commits/{{ref}}/status", combined),
]
