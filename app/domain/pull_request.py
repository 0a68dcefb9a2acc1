"""Look, adopt or create once: what to do about a pull request (PROTOCOL §6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from app.domain.errors import ForgeRefused, ProviderError
from app.domain.head import HeadMove
from app.domain.identity import OperationId

#: Mirrors on this host, each found by its repository's id alone.
LOCAL_FORGE = "local"

#: How a release says that the forge has named a time; it is no failed try.
LIMITED = "limited"


class ForgeNotReady(ForgeRefused):
    """The forge has done nothing, and may grant the same call a moment later, or never."""

    code = "forge_not_ready"


class ForgeLimited(ProviderError):
    """The forge has done nothing, and names the time until which it takes no more calls."""

    code = "forge_limited"

    def __init__(self, message: str, wait: timedelta = timedelta(minutes=1)) -> None:
        super().__init__(message)
        self.wait = wait


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
    CLASH = "branch_clash"
    MISSING = "request_missing"


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
class MoveHeads:
    """Absence is attested: take the head from under the old call, then look for the window."""

    moves: tuple[HeadMove, ...]


@dataclass(frozen=True, slots=True)
class KeepLooking:
    """A call may still show its effect; look again within the settle window."""


@dataclass(frozen=True, slots=True)
class EndCanceled:
    """Nothing is there, no call is open, and a stop was asked for."""


RequestPermission = Adopt | AskPerson | Create | MoveHeads | KeepLooking | EndCanceled


@dataclass(frozen=True, slots=True)
class Ruling:
    """What persons have decided, as far as it bears on the next step."""

    adopts: int | None = None  #: the request that they name
    is_abandoned: bool = False  #: over what was found on the head
    is_vouched: bool = False  #: for calls without an answer: their heads are given up
    guard: MoveHeads | AskPerson | None = None  #: what must come before anything is created


NO_RULING = Ruling()


def permit(
    found: Sequence[ForgeRequest],
    ours: Lineage,
    *,
    unresolved: bool,
    window_passed: bool,
    stop: bool,
    ruling: Ruling = NO_RULING,
) -> RequestPermission:
    """What the requests on the heads (every state, this repository) permit; first match wins.

    `unresolved`: a call of any fence has no outcome, and no person's word for one. `window_passed`:
    the settle window since the newest such call, or since the head was moved, is over.
    """
    shown = _shown(found, ours, ruling)
    if shown is not None:
        return shown
    if unresolved and window_passed:
        return AskPerson(
            Trouble.UNRESOLVED, "a call has no outcome, and no request appeared in the window"
        )
    if unresolved:
        return KeepLooking()
    if ruling.guard is not None and not any(one.state is RequestState.OPEN for one in found):
        return ruling.guard  # to take a branch away closes what is open on it
    if ruling.is_vouched and not window_passed:
        return KeepLooking()
    return EndCanceled() if stop else Create()


def _shown(
    found: Sequence[ForgeRequest], ours: Lineage, ruling: Ruling
) -> Adopt | AskPerson | None:
    """What follows from the requests that are there; None: as if there were none."""
    for request in found:
        if request.number == ruling.adopts:
            return Adopt(request)
    permission: Adopt | AskPerson | None = None
    match list(found):
        case [request]:
            permission = _known(request, ours)
        case [_, *_]:
            numbers = ", ".join(f"#{request.number}" for request in found)
            permission = AskPerson(Trouble.SEVERAL, f"several requests on one head: {numbers}")
    if isinstance(permission, Adopt):
        return permission
    if ruling.adopts is not None:
        return AskPerson(Trouble.MISSING, f"request #{ruling.adopts} is not on this head")
    if ruling.is_abandoned and not any(_counts(request, ours) for request in found):
        return None
    return permission


def _counts(request: ForgeRequest, ours: Lineage) -> bool:
    """Whether it is an effect of ours that lives on; what a person has closed does not."""
    return request.marker == ours.operation and request.state is not RequestState.CLOSED


_FOREIGN = {
    RequestState.OPEN: Trouble.FOREIGN_OPEN,
    RequestState.CLOSED: Trouble.FOREIGN_CLOSED,
    RequestState.MERGED: Trouble.FOREIGN_MERGED,
}


def _known(request: ForgeRequest, ours: Lineage) -> Adopt | AskPerson:
    name = f"request #{request.number}"
    if request.marker != ours.operation:
        what = f"{name} on this head is {request.state} and not of this operation"
        return AskPerson(_FOREIGN[request.state], what)
    if request.head_sha != ours.head_sha:
        return AskPerson(Trouble.HEAD_MOVED, f"{name} is at {request.head_sha}, not as published")
    if request.base != ours.base:
        return AskPerson(Trouble.BASE_CHANGED, f"{name} goes into {request.base}, not {ours.base}")
    return Adopt(request)
