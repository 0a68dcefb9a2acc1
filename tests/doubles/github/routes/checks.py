"""Check runs and suites: written by Apps alone, not unique by name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from doubles.github import plumbing
from doubles.github.access import require
from doubles.github.exchange import Answer, Call, Refused, invalid
from doubles.github.paging import page
from doubles.github.shapes.check import run as run_shape
from doubles.github.shapes.check import suite as suite_shape
from doubles.github.world import App, CheckRun, Repository


def app_of(call: Call) -> App:
    """The App that asks; nobody else writes checks."""
    if call.token is None or call.token.installation is None:
        raise Refused(403, "You must authenticate via a GitHub App.")
    return call.token.installation.app


def create_run(call: Call) -> Answer:
    """Add one; a second of the same name is a second one."""
    repo = require(call, "checks", "write")
    app, fields = app_of(call), call.request.fields()
    for name in ("name", "head_sha"):
        if not isinstance(fields.get(name), str):
            raise Refused(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
    if plumbing.resolve(repo.git_dir, fields["head_sha"]) != fields["head_sha"]:
        raise Refused(422, f"No commit found for SHA: {fields['head_sha']}")
    one = call.github.add_run(repo, app, fields["name"], fields["head_sha"], **known(fields))
    return Answer(201, run_shape(call.github.url, call.world, repo, one), stored=True)


def known(fields: dict[str, Any]) -> dict[str, Any]:
    """What a run takes from a body; a conclusion completes it."""
    names = ("status", "conclusion", "details_url", "external_id", "output")
    found = {name: fields[name] for name in names if name in fields}
    if "conclusion" in found:
        found["status"] = "completed"
    if found.get("status") == "completed" and "conclusion" not in found:
        raise invalid("CheckRun", code="missing_field", field="conclusion")
    for name in ("started_at", "completed_at"):
        if name in fields:
            found[name] = datetime.fromisoformat(fields[name].replace("Z", "+00:00")).timestamp()
    return found


def run_of(call: Call, level: str) -> tuple[Repository, CheckRun]:
    """The run of the path."""
    repo = require(call, "checks", level)
    text = call.values["check_run_id"]
    one = repo.check_runs.get(int(text)) if text.isdigit() else None
    if one is None:
        raise Refused(404, "Not Found")
    return repo, one


def get_run(call: Call) -> Answer:
    """One by id."""
    repo, one = run_of(call, "read")
    return Answer(200, run_shape(call.github.url, call.world, repo, one))


def update_run(call: Call) -> Answer:
    """Change one of one's own."""
    repo, one = run_of(call, "write")
    if app_of(call).id != one.app:
        raise Refused(403, "Resource not accessible by integration")
    fields = call.request.fields()
    call.github.change_run(repo, one, **known(fields), name=fields.get("name", one.name))
    return Answer(200, run_shape(call.github.url, call.world, repo, one), stored=True)


def list_runs(call: Call) -> Answer:
    """The runs on a commit: by default the latest of each App and name."""
    repo = require(call, "checks", "read")
    sha = commit_of(repo, call)
    rows = [each for each in repo.check_runs.values() if each.head_sha == sha]
    return runs_page(call, repo, rows)


def list_suite_runs(call: Call) -> Answer:
    """The runs of a suite."""
    repo = require(call, "checks", "read")
    text = call.values["check_suite_id"]
    if not text.isdigit() or int(text) not in repo.suites:
        raise Refused(404, "Not Found")
    rows = [each for each in repo.check_runs.values() if each.suite == int(text)]
    return runs_page(call, repo, rows)


def runs_page(call: Call, repo: Repository, rows: list[CheckRun]) -> Answer:
    """One page of runs, filtered as the query says."""
    query = call.request.query
    rows = [
        each for each in rows
        if query.get("check_name", each.name) == each.name
        and query.get("status", each.status) == each.status
        and query.get("app_id", str(each.app)) == str(each.app)
    ]  # fmt: skip
    if query.get("filter", "latest") == "latest":
        rows = list({(each.app, each.name): each for each in rows}.values())
    rows.sort(key=lambda each: -each.id)
    shown = [run_shape(call.github.url, call.world, repo, each) for each in rows]
    return page(call, repo, shown, "check_runs")


def commit_of(repo: Repository, call: Call) -> str:
    """The commit of the path; 422 when there is none."""
    sha = plumbing.resolve(repo.git_dir, call.values["ref"])
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {call.values['ref']}")
    return sha


def list_suites(call: Call) -> Answer:
    """The suites on a commit."""
    repo = require(call, "checks", "read")
    sha, query = commit_of(repo, call), call.request.query
    rows = [
        each for each in repo.suites.values()
        if each.head_sha == sha and query.get("app_id", str(each.app)) == str(each.app)
    ]  # fmt: skip
    shown = [suite_shape(call.github.url, call.world, repo, each) for each in rows]
    return page(call, repo, shown, "check_suites")


def get_suite(call: Call) -> Answer:
    """One by id."""
    repo = require(call, "checks", "read")
    text = call.values["check_suite_id"]
    if not text.isdigit() or int(text) not in repo.suites:
        raise Refused(404, "Not Found")
    suite = repo.suites[int(text)]
    return Answer(200, suite_shape(call.github.url, call.world, repo, suite))


REPO = "/repos/{owner}/{repo}"
ROUTES = [
    ("POST", f"{REPO}/check-runs", create_run),
    ("GET", f"{REPO}/check-runs/{{check_run_id}}", get_run),
    ("PATCH", f"{REPO}/check-runs/{{check_run_id}}", update_run),
    ("GET", f"{REPO}/commits/{{ref}}/check-runs", list_runs),
    ("GET", f"{REPO}/commits/{{ref}}/check-suites", list_suites),
    ("GET", f"{REPO}/check-suites/{{check_suite_id}}", get_suite),
    ("GET", f"{REPO}/check-suites/{{check_suite_id}}/check-runs", list_suite_runs),
]
