"""What a credential and a repository allow, found out without leaving a trace.

A ref is made and taken away; a request and a status are asked for that can never come to be, so
that only a missing permission and a missing thing can be the answer.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.domain.errors import ForgeRefused, PushRefused, RemoteUnreadable
from app.github.answer import Answer, limit_of, trouble_of
from app.github.hub import Repository
from app.repository.git import Completed, git
from app.repository.remote import Remote, reach

_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Fencepost"), ("EMAIL", "fencepost@localhost"))
}
#: Rules that refuse what a worker pushes: a new branch whose commits nobody signed or reviewed.
_REFUSING = {
    "creation", "update", "pull_request", "required_signatures", "required_status_checks",
    "required_deployments", "workflows", "merge_queue",
}  # fmt: skip
_NOWHERE = "0" * 40


class TraceLeft(RemoteUnreadable):
    """A probe's ref was made and could not be taken away again."""

    code = "trace_left"


def branches(at: Repository) -> list[str]:
    """Every branch, by git; RemoteUnreadable."""
    done = reach(_remote(at), "ls-remote", "--heads", "--", at.address.url, timeout=60)
    if done.code != 0:
        raise RemoteUnreadable(f"git cannot read {at.address.url}: {done.complaint}")
    return [line.partition("refs/heads/")[2] for line in done.text.splitlines()]


def ref(at: Repository, below: str) -> None:
    """Make a ref with a random name below a prefix, and delete it.

    PushRefused: the remote will not have it. TraceLeft: it cannot be deleted again.
    """
    name = f"{below}probe-{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory(prefix="fencepost-probe-") as folder:
        git_dir = Path(folder)
        git("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(git_dir))
        tree = git("mktree", git_dir=git_dir)
        sha = git("commit-tree", tree, "-m", "A probe", git_dir=git_dir, extra=_WHO)
        done = _push(at, git_dir, f"{name}:", f"{sha}:{name}")
        if done.code != 0:
            raise PushRefused(_said(done))
        done = _push(at, git_dir, f"{name}:{sha}", f":{name}")
        if done.code != 0:
            raise TraceLeft(f"{name} could not be deleted again: {_said(done)}")


def rules(at: Repository, branch: str) -> list[str]:
    """The kinds of rules by which a push of a new branch would be refused.

    Older protections of branches are not among them: GitHub shows those to administrators alone.
    """
    answer = at.get(f"{at.root}/rules/branches/{quote(branch)}")
    if not answer.is_good or not isinstance(answer.value, list):
        raise trouble_of(answer, "a look at the rules")
    kinds = {str(one.get("type")) for one in answer.value if isinstance(one, Mapping)}
    return sorted(kinds & _REFUSING)


def requests(at: Repository, branch: str) -> None:
    """Whether requests may be created, by one from a branch into itself; else ForgeRefused."""
    value = {"title": "A probe", "head": branch, "base": branch}
    _impossible(at, f"{at.root}/pulls", value, "a pull request")


def statuses(at: Repository) -> None:
    """Whether commits may be given a status, by one of no commit; else ForgeRefused."""
    value = {"state": "pending", "context": "fencepost"}
    _impossible(at, f"{at.root}/statuses/{_NOWHERE}", value, "a commit status")


def _impossible(at: Repository, path: str, value: Mapping[str, Any], what: str) -> None:
    answer: Answer = at.write("POST", path, value)
    if answer.status == 422 and limit_of(answer) is None:
        return
    if answer.is_good:
        raise ForgeRefused(f"GitHub made {what} that cannot be: {path}")
    raise trouble_of(answer, what)


def _remote(at: Repository) -> Remote:
    return Remote(at.address.url, at.access)


def _push(at: Repository, git_dir: Path, lease: str, spec: str) -> Completed:
    return reach(
        _remote(at), "push", "--porcelain", f"--force-with-lease={lease}", "--", at.address.url,
        spec, git_dir=git_dir, timeout=60,
    )  # fmt: skip


def _said(done: Completed) -> str:
    words = done.err.decode("utf-8", "replace").splitlines()
    remote = [line.removeprefix("remote:").strip() for line in words if line.startswith("remote:")]
    return "; ".join(word for word in remote if word)[:300] or done.complaint
