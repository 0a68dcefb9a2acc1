"""The last look at a candidate: the commit itself, right before it is pushed (E03)."""

from __future__ import annotations

import hashlib
from pathlib import Path

from app.domain.digest import text
from app.domain.result import Outcome
from app.domain.scope import Violation, ViolationCode
from app.kinds.ending import ending
from app.kinds.request import WorkRequest
from app.repository.git import attempt
from workers.execution import Finished
from workers.workspace.checkout import Checkout
from workers.workspace.scope import check_scope


def certified(request: WorkRequest, checkout: Checkout, finished: Finished) -> Finished:
    """What was finished, if its commit is what was checked; else a failure in its place.

    It must be one commit on the base, of the tree that the checks saw, and within the scope.
    """
    if finished.candidate is None:
        return finished
    head, git_dir = finished.candidate, checkout.git_dir
    found = _another(git_dir, head, request.base, finished.tree) or check_scope(
        git_dir, request.base, head, request.paths
    )
    if not found:
        return finished
    first = found[0]
    why = text(f"{first.path}: {first.why}, in the commit that was to be pushed")
    return Finished(ending(Outcome.FAILED, first.code, why), None)


def _another(git_dir: Path, head: str, base: str, tree: str | None) -> list[Violation]:
    """Git reads what lies under a commit's name; whether it is of that name is for us to see."""
    content = attempt("cat-file", "commit", head, git_dir=git_dir).out
    named = hashlib.new("sha256" if len(head) == 64 else "sha1", usedforsecurity=False)
    named.update(b"commit %d\0" % len(content) + content)
    said = content.decode("utf-8", "replace").split("\n\n", 1)[0].split("\n")
    wanted = [f"tree {tree}", f"parent {base}"]
    ours = [line for line in said if line.startswith(("tree ", "parent "))]
    if named.hexdigest() == head and ours == wanted:
        return []
    why = "not the tree that was checked, on its base"
    return [Violation(ViolationCode.OUTSIDE_SCOPE, head[:12], why)]
