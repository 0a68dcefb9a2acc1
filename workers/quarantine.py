"""What is never published, for it tells a secret (E09): names, and what a candidate adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app import secrecy
from app.domain.digest import text
from app.domain.event import EventType
from app.domain.scope import Change
from app.kinds.request import PullRequestRequest, WorkRequest
from workers.observation import Friction
from workers.worker import Run
from workers.workspace.adding import added
from workers.workspace.checkout import Checkout

IN_NAME, IN_FILE = "secret_in_identity", "secret_in_candidate"
_THEN = "rename it, and replace the secret: it has been written down where you named it"


def in_names(request: WorkRequest | PullRequestRequest) -> str | None:
    """Why nothing is begun or opened under the names of a request; None: they are fit."""
    if isinstance(request, WorkRequest):
        author = request.signature
        names = [request.branch, author.name, author.email, request.message, *request.paths]
    else:
        names = [request.head, *request.labels, *request.reviewers]
    found = secrecy.name_in(*(name for name in [request.base, request.url, *names] if name))
    return f"a name holds a secret ({found}): {_THEN}" if found else None


def in_candidate(
    run: Run, request: WorkRequest, checkout: Checkout, tree: str, changes: Sequence[Change]
) -> Iterator[Friction]:
    """What a candidate tells that it must not; what only looks like a secret is said, and passes.

    A repository's own tests may need keys that look real. What this worker holds they never need.
    """
    paths = (text(path) for one in changes for path in (one.path, one.old_path) if path)
    if name := secrecy.name_in(*paths):
        yield Friction(IN_NAME, f"the name of a file holds a secret ({name})")
    for one in added(checkout.git_dir, request.base, tree, checkout.stop):
        if one.is_held:
            yield Friction(IN_FILE, f"{one.path}: it tells this worker's own {one.name}")
        else:
            words = f"{one.path}: it adds what looks like a secret: {one.name}"
            run.journal.tell(EventType.STEP, step="warning", text=text(words))
