"""What the candidate's commit shows: a status by a token, a check run by an App (G06).

The newest status of a context counts, so that there is one whatever is repeated. Check runs have no
such rule: ours is looked for before one is made, and doubles of it are taken back and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain.pull_request import ForgeRequest
from app.github.answer import Answer, limit_of, trouble_of
from app.github.hub import Repository

CONTEXT = "fencepost"  #: of the status, and the name of the check run
_LONGEST = 140  #: of a status


def mark(at: Repository, request: ForgeRequest, words: str) -> int:
    """Show on the commit that everything passed; how many doubles of a check run were healed.

    An App that may not write checks gives a status too. What GitHub refuses is raised.
    """
    if at.hub.account.app is not None and request.marker is not None:
        healed = _check_run(at, request, words)
        if healed is not None:
            return healed
    value = {"state": "success", "context": CONTEXT, "description": words[:_LONGEST]}
    _done(at.write("POST", f"{at.root}/statuses/{request.head_sha}", value), "a status")
    return 0


def _check_run(at: Repository, request: ForgeRequest, words: str) -> int | None:
    asked = {"check_name": CONTEXT, "filter": "all", "per_page": "100"}
    answer = at.get(f"{at.root}/commits/{request.head_sha}/check-runs", asked)
    if _is_withheld(answer):
        return None
    _done(answer, "a look at check runs")
    runs = answer.value.get("check_runs", []) if isinstance(answer.value, Mapping) else []
    ours = sorted(
        int(run["id"]) for run in runs
        if run.get("external_id") == request.marker and run.get("conclusion") == "success"
    )  # fmt: skip
    if not ours:
        made = at.write("POST", f"{at.root}/check-runs", _run(request, words))
        if _is_withheld(made):
            return None
        _done(made, "a check run")
    for number in ours[1:]:
        value = {"conclusion": "neutral", "output": {"title": "Shown twice", "summary": words}}
        _done(at.write("PATCH", f"{at.root}/check-runs/{number}", value), "a check run")
    return len(ours[1:])


def _is_withheld(answer: Answer) -> bool:
    """Whether the App has no right to checks."""
    return answer.status in (403, 404) and limit_of(answer) is None


def _run(request: ForgeRequest, words: str) -> dict[str, Any]:
    return {
        "name": CONTEXT, "head_sha": request.head_sha, "external_id": request.marker,
        "status": "completed", "conclusion": "success",
        "output": {"title": words[:_LONGEST], "summary": f"{words}: see {request.url}"},
    }  # fmt: skip


def _done(answer: Answer, what: str) -> None:
    if not answer.is_good:
        raise trouble_of(answer, what)
