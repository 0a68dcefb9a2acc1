"""Pull requests: `/repos/{owner}/{repo}/pulls`."""

from __future__ import annotations

from typing import Any

from doubles.github import opening, plumbing
from doubles.github.access import actor, require
from doubles.github.exchange import Answer, Call, Refused, invalid
from doubles.github.merging import merge
from doubles.github.paging import page
from doubles.github.shapes import pull as shape
from doubles.github.shapes import repository as repository_shape
from doubles.github.world import Pull, Repository


def list_pulls(call: Call) -> Answer:
    """Newest first; a head without an owner before its colon filters nothing, as at GitHub."""
    repo = require(call, "pull_requests", "read")
    query = call.request.query
    state, head, base = query.get("state", "open"), query.get("head", ""), query.get("base", "")
    owner, _, branch = head.partition(":")
    found = [
        pull for pull in repo.pulls.values()
        if state in {"all", pull.state}
        and (not branch or (owner == repo.owner.login and pull.head == branch))
        and (not base or pull.base == base)
        and not call.github.hides("list", repo, str(pull.number))
    ]  # fmt: skip
    order = "updated_at" if query.get("sort") == "updated" else "created_at"
    is_descending = query.get("direction", "asc" if "sort" in query else "desc") == "desc"
    if query.get("sort", "created") == "created" and "direction" not in query:
        is_descending = True
    found.sort(key=lambda pull: (getattr(pull, order), pull.number), reverse=is_descending)
    shown = [shape.simple(call.github.url, repo, pull, head_of(call, repo, pull)) for pull in found]
    return page(call, repo, shown)


def get_pull(call: Call) -> Answer:
    """One by number."""
    repo = require(call, "pull_requests", "read")
    pull = pull_of(call, repo)
    pull.looks += 1
    body = shape.full(call.github.url, repo, pull, head_of(call, repo, pull))
    return Answer(200, body)


def head_of(call: Call, repo: Repository, pull: Pull) -> str | None:
    """The head to show: the one before the last push while that lags."""
    if pull.earlier_heads and call.github.hides("head_sha", repo, str(pull.number)):
        return pull.earlier_heads[-1]
    return None


def pull_of(call: Call, repo: Repository, name: str = "pull_number") -> Pull:
    """The request that the path names."""
    text = call.values[name]
    pull = repo.pulls.get(int(text)) if text.isdigit() else None
    if pull is None or call.github.hides("pull", repo, text):
        raise Refused(404, "Not Found")
    return pull


def create_pull(call: Call) -> Answer:
    """Open one; a second open one for the same head and base is refused."""
    repo = require(call, "pull_requests", "write")
    fields = call.request.fields()
    wanted = opening.wanted(repo, fields)
    opening.refuse(call.github, repo, wanted)
    pull = opening.open_pull(call.github, repo, wanted, actor(call))
    body = shape.full(call.github.url, repo, pull)
    return Answer(201, body, {"Location": body["url"]}, stored=True, note={"number": pull.number})


def update_pull(call: Call) -> Answer:
    """Change title, body, state or base."""
    repo = require(call, "pull_requests", "write")
    pull = pull_of(call, repo)
    fields = call.request.fields()
    opening.refuse_texts(fields.get("title", pull.title), fields.get("body"))
    if fields.get("state", pull.state) not in {"open", "closed"}:
        raise invalid("PullRequest", code="invalid", field="state")
    if fields.get("base", pull.base) != pull.base:
        opening.retarget(call.github, repo, pull, fields["base"])
    if fields.get("state", pull.state) != pull.state:
        if pull.state == "open":
            call.github.end(repo, pull)
        else:
            opening.reopen(call.github, repo, pull)
    changed = {name for name in ("title", "body") if name in fields}
    for name in changed:
        setattr(pull, name, fields[name])
    pull.updated_at = call.world.clock.now()
    if changed:
        call.github.tell_pull(repo, pull, "edited")
    body = shape.full(call.github.url, repo, pull)
    return Answer(200, body, stored=True, note={"number": pull.number})


def merge_pull(call: Call) -> Answer:
    """Merge one; Fencepost never does, people do."""
    repo = require(call, "contents", "write")
    require(call, "pull_requests", "write")
    pull = pull_of(call, repo)
    fields = call.request.fields()
    if pull.state != "open" or pull.draft:
        raise Refused(405, "Pull Request is not mergeable")
    if fields.get("sha", pull.head_sha) != pull.head_sha:
        raise Refused(409, "Head branch was modified. Review and try the merge again.")
    sha = merge(call.github, repo, pull, actor(call), fields.get("merge_method", "merge"))
    body = {"sha": sha, "merged": True, "message": "Pull Request successfully merged"}
    return Answer(200, body, stored=True)


def is_merged(call: Call) -> Answer:
    """204 when it was merged."""
    repo = require(call, "pull_requests", "read")
    return Answer(204 if pull_of(call, repo).merged_at else 404)


def request_reviewers(call: Call) -> Answer:
    """Ask collaborators for a review; never the author."""
    repo = require(call, "pull_requests", "write")
    pull = pull_of(call, repo)
    refuse_unresolved(call, repo, pull)
    wanted: list[str] = call.request.fields().get("reviewers", [])
    if pull.user.login in wanted:
        raise Refused(422, "Review cannot be requested from pull request author.")
    if set(wanted) - repo.collaborators or call.request.fields().get("team_reviewers"):
        raise Refused(
            422,
            "Reviews may only be requested from collaborators. One or more of the users or teams "
            f"you specified is not a collaborator of the {repo.full_name} repository.",
        )
    known = {each.login for each in pull.reviewers}
    pull.reviewers += [call.world.user(each) for each in dict.fromkeys(wanted) if each not in known]
    return Answer(201, shape.simple(call.github.url, repo, pull), stored=True)


def remove_reviewers(call: Call) -> Answer:
    """Take the wish for a review back."""
    repo = require(call, "pull_requests", "write")
    pull = pull_of(call, repo)
    gone = call.request.fields().get("reviewers", [])
    pull.reviewers = [each for each in pull.reviewers if each.login not in gone]
    return Answer(200, shape.simple(call.github.url, repo, pull), stored=True)


def list_reviewers(call: Call) -> Answer:
    """Who was asked."""
    repo = require(call, "pull_requests", "read")
    shown = shape.simple(call.github.url, repo, pull_of(call, repo))
    return Answer(200, {"users": shown["requested_reviewers"], "teams": []})


def refuse_unresolved(call: Call, repo: Repository, pull: Pull) -> None:
    """A write on a fresh request may not find it yet."""
    if call.github.hides("node", repo, str(pull.number)):
        message = f"Could not resolve to a node with the global id of 'PR_{pull.id}'."
        raise Refused(422, message)


def list_commits(call: Call) -> Answer:
    """The commits of a request, oldest first."""
    repo = require(call, "pull_requests", "read")
    pull = pull_of(call, repo)
    found = plumbing.commits(repo.git_dir, f"{pull.base_sha}..{pull.head_sha}")[::-1]
    rows: list[Any] = [repository_shape.commit(call.github.url, repo, each) for each in found]
    return page(call, repo, rows)


PULLS = "/repos/{owner}/{repo}/pulls"
ONE = f"{PULLS}/{{pull_number}}"
ROUTES = [
    ("GET", PULLS, list_pulls),
    ("POST", PULLS, create_pull),
    ("GET", ONE, get_pull),
    ("PATCH", ONE, update_pull),
    ("GET", f"{ONE}/merge", is_merged),
    ("PUT", f"{ONE}/merge", merge_pull),
    ("GET", f"{ONE}/commits", list_commits),
    ("GET", f"{ONE}/requested_reviewers", list_reviewers),
    ("POST", f"{ONE}/requested_reviewers", request_reviewers),
    ("DELETE", f"{ONE}/requested_reviewers", remove_reviewers),
]
