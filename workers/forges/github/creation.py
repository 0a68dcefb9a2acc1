"""What GitHub's answer to the one POST of a request proves (PROTOCOL §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain.errors import ForgeRefused, ForgeUncertain, RemoteUnreadable, RequestExists
from app.domain.pull_request import ForgeLimited, ForgeNotReady, ForgeRequest
from app.github.answer import Answer, limit_of
from workers.forges.base import RequestDraft
from workers.forges.github.reading import shown

#: What GitHub says for seconds after a push, of a head that it does not see everywhere yet.
_NOT_YET = (
    "head sha can't be blank", "base sha can't be blank", "head ref must be a branch",
    "no commits between", "could not resolve to a node", "head invalid", "head missing",
)  # fmt: skip


def judge(answer: Answer, draft: RequestDraft, repository: Mapping[str, Any]) -> ForgeRequest:
    """The request, if it was made.

    RequestExists, ForgeRefused, ForgeNotReady and ForgeLimited: it was not. ForgeUncertain: the
    answer does not say.
    """
    if answer.status == 201:
        return _made(answer, draft, repository)
    if (wait := limit_of(answer)) is not None:
        raise ForgeLimited(f"GitHub takes no request now: {answer.reason}", wait)
    if answer.status in (401, 422):
        raise _unmade(answer)
    if 300 <= answer.status < 500 and answer.status != 408:
        raise ForgeRefused(f"GitHub refuses the request: {answer.reason}")
    raise ForgeUncertain(f"GitHub's answer says nothing of the request: {answer.reason}")


def _made(answer: Answer, draft: RequestDraft, repository: Mapping[str, Any]) -> ForgeRequest:
    try:
        made = shown(answer.value, repository)
    except RemoteUnreadable as fault:
        raise ForgeUncertain(fault.message) from fault
    if made is None or (made.head, made.marker) != (draft.head, draft.operation):
        raise ForgeUncertain("GitHub says that it created a request, and shows another one")
    return made


def _unmade(answer: Answer) -> ForgeRefused | RequestExists:
    said = answer.reason.lower()
    if answer.status == 401:  # a token that ran out; the next one is tried
        return ForgeNotReady(f"GitHub does not take the credential: {answer.reason}")
    if "already exists" in said:
        return RequestExists(f"GitHub: {answer.reason}")
    if any(words in said for words in _NOT_YET):
        return ForgeNotReady(f"GitHub does not see the branch yet: {answer.reason}")
    return ForgeRefused(f"GitHub refuses the request: {answer.reason}")
