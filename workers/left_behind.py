"""What a run left in its tree, and where that leaves what was approved (E03)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.errors import GitFailed
from app.domain.scope import Change
from app.kinds.request import WorkRequest
from workers import quarantine
from workers.observation import Friction
from workers.worker import Run
from workers.workspace.checkout import Checkout
from workers.workspace.scope import check_scope, matches_anything

_MOST_DIFF = 1024 * 1024  #: bytes of the diff that are kept


@dataclass(frozen=True, slots=True)
class Left:
    """The tree as a git tree, what it changes, and why that may not be proposed."""

    tree: str
    changes: Sequence[Change] = ()
    frictions: Sequence[Friction] = ()


def left_behind(run: Run, request: WorkRequest, checkout: Checkout) -> Left:
    """What the agent left; its diff is kept for people."""
    if not checkout.is_whole():  # another run would do the same
        why = "the working tree is gone, or another folder is in its place"
        return Left(request.base, (), [Friction("checkout_destroyed", why)])
    tree = checkout.snapshot()
    changes = checkout.changes(request.base, tree)
    if changes:
        _keep_diff(run, request, checkout, tree)
    if request.branch is None:
        return Left(tree, changes)  # what a command changes is thrown away
    found = [
        Friction(violation.code, f"{violation.path}: {violation.why}")
        for violation in [
            *checkout.unfit,
            *check_scope(checkout.git_dir, request.base, tree, request.paths),
        ]
    ]
    if request.paths and not matches_anything(checkout.git_dir, request.base, tree, request.paths):
        paths = " ".join(request.paths)
        found.append(Friction("path_matches_nothing", f"nothing matches {paths}, before or after"))
    secrets = quarantine.in_candidate(run, request, checkout, tree, changes)
    return Left(tree, changes, [*secrets, *found])


def _keep_diff(run: Run, request: WorkRequest, checkout: Checkout, tree: str) -> None:
    try:
        diff, size = checkout.diff(request.base, tree, _MOST_DIFF)
    except (OSError, GitFailed):
        return  # for people to read; the run does not depend on it
    run.journal.keep("diff", "text/x-diff", diff, of=size)
