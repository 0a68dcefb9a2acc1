"""Commit statuses, check runs and check suites as the API shows them."""

from __future__ import annotations

from typing import Any

from doubles.github import plumbing
from doubles.github.shapes.account import app, user
from doubles.github.shapes.repository import api, minimal
from doubles.github.world import CheckRun, CheckSuite, Pull, Repository, Status, World, stamp


def status(base: str, repo: Repository, one: Status) -> dict[str, Any]:
    """A `status`."""
    return {**simple_status(base, repo, one), "creator": user(base, one.creator)}


def simple_status(base: str, repo: Repository, one: Status) -> dict[str, Any]:
    """A `simple-commit-status`."""
    return {
        "url": f"{api(base, repo)}/statuses/{one.sha}",
        "avatar_url": f"{base}/avatars/u/{one.creator.id}",
        "id": one.id,
        "node_id": f"SC_{one.id}",
        "state": one.state,
        "description": one.description,
        "target_url": one.target_url,
        "context": one.context,
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.created_at),
    }


def run(base: str, world: World, repo: Repository, one: CheckRun) -> dict[str, Any]:
    """A `check-run`."""
    url = f"{api(base, repo)}/check-runs/{one.id}"
    return {
        "id": one.id,
        "node_id": f"CR_{one.id}",
        "head_sha": one.head_sha,
        "external_id": one.external_id,
        "url": url,
        "html_url": f"{base}/{repo.full_name}/runs/{one.id}",
        "details_url": one.details_url,
        "status": one.status,
        "conclusion": one.conclusion,
        "started_at": stamp(one.started_at),
        "completed_at": stamp(one.completed_at),
        "output": {
            "title": one.output.get("title"),
            "summary": one.output.get("summary"),
            "text": one.output.get("text"),
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "name": one.name,
        "check_suite": {"id": one.suite},
        "app": app(base, world.apps[one.app]),
        "pull_requests": pulls_on(base, repo, one.head_sha),
    }


def suite(base: str, world: World, repo: Repository, one: CheckSuite) -> dict[str, Any]:
    """A `check-suite`; it ends when all its runs have."""
    runs = [each for each in repo.check_runs.values() if each.suite == one.id]
    found = plumbing.commit(repo.git_dir, one.head_sha)
    url = f"{api(base, repo)}/check-suites/{one.id}"
    return {
        "id": one.id,
        "node_id": f"CS_{one.id}",
        "head_branch": one.head_branch,
        "head_sha": one.head_sha,
        "status": suite_status(runs),
        "conclusion": suite_conclusion(runs),
        "url": url,
        "before": found.parents[0] if found.parents else "0" * 40,
        "after": one.head_sha,
        "pull_requests": pulls_on(base, repo, one.head_sha),
        "app": app(base, world.apps[one.app]),
        "repository": minimal(base, repo),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.created_at),
        "head_commit": {
            "id": found.sha,
            "tree_id": found.tree,
            "message": found.message,
            "timestamp": found.author.date,
            "author": {"name": found.author.name, "email": found.author.email},
            "committer": {"name": found.committer.name, "email": found.committer.email},
        },
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{url}/check-runs",
    }


def suite_status(runs: list[CheckRun]) -> str:
    """Completed, once every run is."""
    states = {each.status for each in runs}
    if states == {"completed"}:
        return "completed"
    return "in_progress" if states & {"in_progress", "completed"} else "queued"


def suite_conclusion(runs: list[CheckRun]) -> str | None:
    """The worst of the runs; None before the end."""
    if suite_status(runs) != "completed":
        return None
    ends = {each.conclusion for each in runs}
    order = ("failure", "timed_out", "action_required", "cancelled", "success")
    return next((end for end in order if end in ends), "neutral")


def pulls_on(base: str, repo: Repository, sha: str) -> list[dict[str, Any]]:
    """The open requests whose head is the commit."""
    found = [pull for pull in repo.pulls.values() if pull.state == "open" and pull.head_sha == sha]
    return [pull_on(base, repo, pull) for pull in found]


def pull_on(base: str, repo: Repository, pull: Pull) -> dict[str, Any]:
    """A `pull-request-minimal`."""
    name = {"id": repo.id, "url": api(base, repo), "name": repo.name}
    return {
        "id": pull.id,
        "number": pull.number,
        "url": f"{api(base, repo)}/pulls/{pull.number}",
        "head": {"ref": pull.head, "sha": pull.head_sha, "repo": name},
        "base": {"ref": pull.base, "sha": pull.base_sha, "repo": name},
    }
