"""The issue side of a request: comments and labels."""

from __future__ import annotations

from typing import Any

from doubles.github.access import actor, require
from doubles.github.exchange import Answer, Call, Refused, invalid
from doubles.github.opening import LONGEST_BODY
from doubles.github.paging import page
from doubles.github.routes.pulls import pull_of, refuse_unresolved
from doubles.github.shapes.pull import comment as comment_shape
from doubles.github.shapes.pull import issue as issue_shape
from doubles.github.shapes.repository import label as label_shape
from doubles.github.world import Comment, Pull, Repository

EITHER = "issues|pull_requests"


def get_issue(call: Call) -> Answer:
    """A request as an issue."""
    repo, pull = issue_of(call, "read")
    return Answer(200, issue_shape(call.github.url, repo, pull))


def issue_of(call: Call, level: str) -> tuple[Repository, Pull]:
    """The request behind the issue number of the path."""
    repo = require(call, EITHER, level)
    return repo, pull_of(call, repo, "issue_number")


def list_comments(call: Call) -> Answer:
    """In the order in which they were made."""
    repo, pull = issue_of(call, "read")
    found = [each for each in repo.comments.values() if each.number == pull.number]
    shown = [each for each in found if not call.github.hides("list", repo, f"comment-{each.id}")]
    return page(call, repo, [comment_shape(call.github.url, repo, each) for each in shown])


def create_comment(call: Call) -> Answer:
    """Nothing stops the same comment from being made twice."""
    repo, pull = issue_of(call, "write")
    refuse_unresolved(call, repo, pull)
    now = call.world.clock.now()
    one = Comment(call.world.next_id(), pull.number, text_of(call), actor(call), now, now)
    repo.comments[one.id] = one
    call.github.born(("list",), repo, f"comment-{one.id}", pull.head)
    body = comment_shape(call.github.url, repo, one)
    return Answer(201, body, {"Location": body["url"]}, stored=True)


def text_of(call: Call) -> str:
    """The body of a comment, within GitHub's bounds."""
    text = call.request.fields().get("body")
    if not isinstance(text, str) or not text.strip():
        raise invalid("IssueComment", code="missing_field", field="body")
    if len(text) > LONGEST_BODY:
        message = f"body is too long (maximum is {LONGEST_BODY} characters)"
        raise invalid("IssueComment", message, field="body")
    return text


def comment_of(call: Call, level: str) -> tuple[Repository, Comment]:
    """The comment that the path names."""
    repo = require(call, EITHER, level)
    text = call.values["comment_id"]
    one = repo.comments.get(int(text)) if text.isdigit() else None
    if one is None:
        raise Refused(404, "Not Found")
    return repo, one


def get_comment(call: Call) -> Answer:
    """One by id."""
    return Answer(200, comment_shape(call.github.url, *comment_of(call, "read")))


def update_comment(call: Call) -> Answer:
    """Another text."""
    repo, one = comment_of(call, "write")
    one.body, one.updated_at = text_of(call), call.world.clock.now()
    return Answer(200, comment_shape(call.github.url, repo, one), stored=True)


def delete_comment(call: Call) -> Answer:
    """Remove one."""
    repo, one = comment_of(call, "write")
    del repo.comments[one.id]
    return Answer(204, stored=True)


def list_labels(call: Call) -> Answer:
    """The labels of a request."""
    repo, pull = issue_of(call, "read")
    return page(call, repo, labels_shown(call, repo, pull.labels))


def labels_shown(call: Call, repo: Repository, names: list[str]) -> list[Any]:
    """Labels as the API shows them."""
    return [label_shape(call.github.url, repo, name) for name in names]


def add_labels(call: Call) -> Answer:
    """Add to those that are there; a label that the repository lacks is made."""
    return change_labels(call, is_set=False)


def set_labels(call: Call) -> Answer:
    """Replace those that are there."""
    return change_labels(call, is_set=True)


def change_labels(call: Call, *, is_set: bool) -> Answer:
    """Names come in a list, or in an object with one."""
    repo, pull = issue_of(call, "write")
    refuse_unresolved(call, repo, pull)
    body = call.request.json()
    given = body.get("labels", []) if isinstance(body, dict) else body
    names = [each["name"] if isinstance(each, dict) else each for each in given]
    for name in names:
        repo.labels.setdefault(name, call.world.next_id())
    kept = [] if is_set else pull.labels
    pull.labels = list(dict.fromkeys([*kept, *names]))
    call.github.tell_pull(repo, pull, "labeled")
    return Answer(200, labels_shown(call, repo, pull.labels), stored=True)


def remove_label(call: Call) -> Answer:
    """Take one away; 404 when it is not there."""
    repo, pull = issue_of(call, "write")
    if call.values["name"] not in pull.labels:
        raise Refused(404, "Label does not exist")
    pull.labels = [each for each in pull.labels if each != call.values["name"]]
    return Answer(200, labels_shown(call, repo, pull.labels), stored=True)


def remove_labels(call: Call) -> Answer:
    """Take all away."""
    _, pull = issue_of(call, "write")
    pull.labels = []
    return Answer(204, stored=True)


ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}"
COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}"
ROUTES = [
    ("GET", ISSUE, get_issue),
    ("GET", f"{ISSUE}/comments", list_comments),
    ("POST", f"{ISSUE}/comments", create_comment),
    ("GET", COMMENT, get_comment),
    ("PATCH", COMMENT, update_comment),
    ("DELETE", COMMENT, delete_comment),
    ("GET", f"{ISSUE}/labels", list_labels),
    ("POST", f"{ISSUE}/labels", add_labels),
    ("PUT", f"{ISSUE}/labels", set_labels),
    ("DELETE", f"{ISSUE}/labels", remove_labels),
    ("DELETE", f"{ISSUE}/labels/{{name}}", remove_label),
]
