"""Refs of any name: put if absent, forward or forced, no expected value."""

from __future__ import annotations

from doubles.github import plumbing
from doubles.github.access import require
from doubles.github.exchange import Answer, Call, Refused
from doubles.github.paging import page
from doubles.github.rules import refusal_of
from doubles.github.shapes import repository as shape
from doubles.github.world import Repository


def get_ref(call: Call) -> Answer:
    """One by its exact name, without `refs/`."""
    repo = require(call, "contents", "read")
    name = f"refs/{call.values['ref']}"
    sha = plumbing.tip(repo.git_dir, name)
    if sha is None:
        raise Refused(404, "Not Found")
    return Answer(200, shape.ref(call.github.url, repo, name, sha))


def matching_refs(call: Call) -> Answer:
    """All whose name begins so."""
    repo = require(call, "contents", "read")
    prefix = f"refs/{call.values['ref']}"
    found = plumbing.refs(repo.git_dir).items()
    rows = [
        shape.ref(call.github.url, repo, name, sha)
        for name, sha in found
        if name.startswith(prefix)
    ]
    return page(call, repo, rows)


def create_ref(call: Call) -> Answer:
    """Put if absent."""
    repo = require(call, "contents", "write")
    fields = call.request.fields()
    name, sha = str(fields.get("ref", "")), str(fields.get("sha", ""))
    if not name.startswith("refs/") or name.count("/") < 2:
        raise Refused(
            422, "Reference name must start with 'refs/' and contain at least two slashes."
        )
    refuse_by_rule(repo, name, "0" * 40, sha)
    if plumbing.tip(repo.git_dir, name):
        raise Refused(422, "Reference already exists")
    update(repo, name, sha, "0" * 40)
    call.github.pushed(repo, [("0" * 40, sha, name)])
    return Answer(201, shape.ref(call.github.url, repo, name, sha), stored=True)


def refuse_by_rule(repo: Repository, name: str, old: str, new: str) -> None:
    """Rules hold for the API as well."""
    if refusal_of(repo, old, new, name):
        raise Refused(422, f"Repository rule violations found\n\nCannot update {name}.")


def update(repo: Repository, name: str, sha: str, old: str) -> None:
    """Move a ref, or 422."""
    try:
        plumbing.git(repo.git_dir, "update-ref", name, sha, old)
    except plumbing.GitFailed:
        message = "Object does not exist" if old == "0" * 40 else "Update failed"
        raise Refused(422, message) from None


def update_ref(call: Call) -> Answer:
    """Forward only unless forced; there is no expected value."""
    repo = require(call, "contents", "write")
    fields, name = call.request.fields(), f"refs/{call.values['ref']}"
    old, new = plumbing.tip(repo.git_dir, name), str(fields.get("sha", ""))
    if old is None:
        raise Refused(422, "Reference does not exist")
    if plumbing.resolve(repo.git_dir, new) is None:
        raise Refused(422, "Object does not exist")
    refuse_by_rule(repo, name, old, new)
    if not fields.get("force") and plumbing.merge_base(repo.git_dir, old, new) != old:
        raise Refused(422, "Update is not a fast forward")
    update(repo, name, new, old)
    call.github.pushed(repo, [(old, new, name)])
    return Answer(200, shape.ref(call.github.url, repo, name, new), stored=True)


def delete_ref(call: Call) -> Answer:
    """Whatever it points at."""
    repo = require(call, "contents", "write")
    name = f"refs/{call.values['ref']}"
    old = plumbing.tip(repo.git_dir, name)
    if old is None:
        raise Refused(422, "Reference does not exist")
    refuse_by_rule(repo, name, old, "0" * 40)
    plumbing.git(repo.git_dir, "update-ref", "-d", name, old)
    call.github.pushed(repo, [(old, "0" * 40, name)])
    return Answer(204, stored=True)


REPO = "/repos/{owner}/{repo}"
ROUTES = [
    ("GET", f"{REPO}/git/ref/{{ref}}", get_ref),
    ("GET", f"{REPO}/git/refs/{{ref}}", get_ref),
    ("GET", f"{REPO}/git/matching-refs/{{ref}}", matching_refs),
    ("POST", f"{REPO}/git/refs", create_ref),
    ("PATCH", f"{REPO}/git/refs/{{ref}}", update_ref),
    ("DELETE", f"{REPO}/git/refs/{{ref}}", delete_ref),
]
