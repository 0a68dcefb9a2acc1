"""Repositories, branches, labels and rules."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from doubles.github import plumbing
from doubles.github.access import repository_of, require
from doubles.github.exchange import Answer, Call, Refused, invalid
from doubles.github.paging import page
from doubles.github.shapes import repository as shape
from doubles.github.world import Repository

#: rules of which the API tells; hooks and secrets show at a push alone
SHOWN = frozenset({"rules", "protected"})


def get_repository(call: Call) -> Answer:
    """What a token may know of it."""
    repo = repository_of(call)
    return Answer(200, shape.full(call.github.url, repo, call.token))


def list_branches(call: Call) -> Answer:
    """By name."""
    repo = require(call, "contents", "read")
    rows = []
    for name, sha in plumbing.refs(repo.git_dir, "refs/heads/").items():
        short = name.removeprefix("refs/heads/")
        where = f"{shape.api(call.github.url, repo)}/commits/{sha}"
        commit = {"sha": sha, "url": where}
        rows.append({"name": short, "commit": commit, "protected": is_protected(repo, name)})
    return page(call, repo, rows)


def is_protected(repo: Repository, ref: str) -> bool:
    """Tell whether any rule speaks of the ref."""
    return any(rule.reason in SHOWN and fnmatchcase(ref, rule.pattern) for rule in repo.rules)


def get_branch(call: Call) -> Answer:
    """One by name, with its commit."""
    repo = require(call, "contents", "read")
    name, base = call.values["branch"], call.github.url
    sha = plumbing.branch(repo.git_dir, name)
    if sha is None or call.github.hides("branch", repo, name):
        raise Refused(404, "Branch not found")
    url, html = f"{shape.api(base, repo)}/branches/{name}", f"{base}/{repo.full_name}/tree/{name}"
    is_ruled = is_protected(repo, f"refs/heads/{name}")
    required = {"enforcement_level": "off", "contexts": [], "checks": []}
    body = {
        "name": name,
        "commit": shape.commit(base, repo, plumbing.commit(repo.git_dir, sha)),
        "_links": {"self": url, "html": html},
        "protected": is_ruled,
        "protection": {"enabled": is_ruled, "required_status_checks": required},
        "protection_url": f"{url}/protection",
    }
    return Answer(200, body)


def list_rules(call: Call) -> Answer:
    """The rules in force for a branch, whether or not it exists."""
    repo = require(call, "metadata", "read")
    ref = f"refs/heads/{call.values['branch']}"
    source = {"ruleset_source_type": "Repository", "ruleset_source": repo.full_name}
    rows: list[dict[str, Any]] = [
        {"type": kind, **source, "ruleset_id": number}
        for number, rule in enumerate(repo.rules, 1)
        if rule.reason == "rules" and fnmatchcase(ref, rule.pattern)
        for kind in rule.kinds
    ]
    return page(call, repo, rows)


def list_repo_labels(call: Call) -> Answer:
    """All labels of a repository."""
    repo = require(call, "issues|pull_requests", "read")
    return page(call, repo, [shape.label(call.github.url, repo, name) for name in repo.labels])


def get_label(call: Call) -> Answer:
    """One by name."""
    repo = require(call, "issues|pull_requests", "read")
    if call.values["name"] not in repo.labels:
        raise Refused(404, "Not Found")
    return Answer(200, shape.label(call.github.url, repo, call.values["name"]))


def create_label(call: Call) -> Answer:
    """One that was not there."""
    repo = require(call, "issues|pull_requests", "write")
    name = call.request.fields().get("name", "")
    if name in repo.labels:
        raise invalid("Label", code="already_exists", field="name")
    repo.labels[name] = call.world.next_id()
    return Answer(201, shape.label(call.github.url, repo, name), stored=True)


REPO = "/repos/{owner}/{repo}"
ROUTES = [
    ("GET", REPO, get_repository),
    ("GET", f"{REPO}/branches", list_branches),
    ("GET", f"{REPO}/branches/{{branch}}", get_branch),
    ("GET", f"{REPO}/rules/branches/{{branch}}", list_rules),
    ("GET", f"{REPO}/labels", list_repo_labels),
    ("POST", f"{REPO}/labels", create_label),
    ("GET", f"{REPO}/labels/{{name}}", get_label),
]
