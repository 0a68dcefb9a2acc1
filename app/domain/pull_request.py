"""Look, adopt or create once: what to do about a pull request (PROTOCOL §6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.identity import OperationId


class RequestState(StrEnum):
    """Where a pull request stands at its forge."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class ForgeRequest:
    """A pull request as a forge shows it."""

    number: int
    state: RequestState
    title: str
    head: str  #: branch
    head_sha: str
    base: str  #: branch
    url: str
    marker: OperationId | None  #: whose it is, if it is one of ours


@dataclass(frozen=True, slots=True)
class Lineage:
    """What makes a request ours: who made it, from which commit, into which branch."""

    operation: OperationId
    head_sha: str
    base: str


class Trouble(StrEnum):
    """Why a person has to look; each has its own answer, and none is "create another" (G03)."""

    FOREIGN_OPEN = "foreign_open"
    FOREIGN_CLOSED = "foreign_closed"
    FOREIGN_MERGED = "foreign_merged"
    HEAD_MOVED = "head_moved"
    BASE_CHANGED = "base_changed"
    SEVERAL = "several"
    UNRESOLVED = "unresolved_call"


@dataclass(frozen=True, slots=True)
class Adopt:
    """It is ours: record it as it is, open, closed or merged."""

    request: ForgeRequest


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Nothing proves what to do; hold the work as unknown."""

    trouble: Trouble
    reason: str


@dataclass(frozen=True, slots=True)
class Create:
    """Nothing is there and no call is open: commit the call's row, then call, once."""


@dataclass(frozen=True, slots=True)
class KeepLooking:
    """A call may still show its effect; look again within the settle window."""


@dataclass(frozen=True, slots=True)
class EndCanceled:
    """Nothing is there, no call is open, and a stop was asked for."""


RequestPermission = Adopt | AskPerson | Create | KeepLooking | EndCanceled


def permit(
    found: Sequence[ForgeRequest],
    ours: Lineage,
    *,
    unresolved: bool,
    window_passed: bool,
    stop: bool,
) -> RequestPermission:
    """What the requests on the head (every state, this repository) permit; first match wins.

    `unresolved`: a call of any fence has no outcome. `window_passed`: the settle window since the
    newest such call is over.
    """
    match list(found):
        case [request]:
            return _known(request, ours)
        case [_, *_]:
            numbers = ", ".join(f"#{request.number}" for request in found)
            return AskPerson(Trouble.SEVERAL, f"several requests on one head: {numbers}")
    if unresolved and window_passed:
        return AskPerson(
            Trouble.UNRESOLVED, "a call has no outcome, and no request appeared in the window"
        )
    if unresolved:
        return KeepLooking()
    return EndCanceled() if stop else Create()


_FOREIGN = {
    RequestState.OPEN: Trouble.FOREIGN_OPEN,
    RequestState.CLOSED: Trouble.FOREIGN_CLOSED,
    RequestState.MERGED: Trouble.FOREIGN_MERGED,
}


def _known(request: ForgeRequest, ours: Lineage) -> RequestPermission:
    name = f"request #{request.number}"
    if request.marker != ours.operation:
        what = f"{name} on this head is {request.state} and not of this operation"
        return AskPerson(_FOREIGN[request.state], what)
    if request.head_sha != ours.head_sha:
        return AskPerson(Trouble.HEAD_MOVED, f"{name} is at {request.head_sha}, not as published")
    if request.base != ours.base:
        return AskPerson(Trouble.BASE_CHANGED, f"{name} goes into {request.base}, not {ours.base}")
    return Adopt(request)
