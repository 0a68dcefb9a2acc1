"""Labels, reviewers, a status, and the end of earlier requests: each may be repeated, or left off.

None of them is worth a request: what GitHub will not have is told, and everything else goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from app.domain.errors import FencepostError
from app.domain.pull_request import ForgeRequest, RequestState
from app.github.answer import Answer
from app.github.hub import Repository
from workers.forges.base import Dress
from workers.forges.github.marking import mark
from workers.forges.github.reading import shown

_TEAM = "team/"


def put_on(at: Repository, request: ForgeRequest, dress: Dress) -> list[str]:
    """Put on what is asked for, and return what could not be."""
    troubles: list[str] = []
    if dress.labels:
        path = f"{at.root}/issues/{request.number}/labels"
        _put(troubles, "labels", lambda: at.write("POST", path, {"labels": list(dress.labels)}))
    if dress.reviewers:
        path = f"{at.root}/pulls/{request.number}/requested_reviewers"
        asked = _reviewers(dress.reviewers)
        _put(troubles, "reviewers", lambda: at.write("POST", path, asked))
    for number in dress.supersedes:
        _put(troubles, f"closing #{number}", partial(_closed, at, number))
    if dress.status is not None:
        _mark(troubles, at, request, dress.status)
    return troubles


def _put(troubles: list[str], what: str, write: Callable[[], Answer]) -> None:
    try:
        answer = write()
    except FencepostError as fault:  # lost or limited: it is not looked for
        troubles.append(f"{what}: {fault.message}")
    else:
        if not answer.is_good:
            troubles.append(f"{what}: GitHub says {answer.reason}")


def _closed(at: Repository, number: int) -> Answer:
    """Close a request that is open and carries a marker of ours; another stays as it is."""
    path = f"{at.root}/pulls/{number}"
    answer = at.get(path)
    known = shown(answer.value, at.facts()) if answer.is_good else None
    if known is None or known.marker is None or known.state is not RequestState.OPEN:
        return answer
    return at.write("PATCH", path, {"state": "closed"})


def _mark(troubles: list[str], at: Repository, request: ForgeRequest, words: str) -> None:
    try:
        healed = mark(at, request, words)
    except FencepostError as fault:
        troubles.append(f"status: {fault.message}")
    else:
        if healed:
            troubles.append(f"status: {healed} doubles of the check run were taken back")


def _reviewers(named: Sequence[str]) -> Mapping[str, Any]:
    teams = [one.removeprefix(_TEAM) for one in named if one.startswith(_TEAM)]
    people = [one for one in named if not one.startswith(_TEAM)]
    return {
        name: those for name, those in (("reviewers", people), ("team_reviewers", teams)) if those
    }
