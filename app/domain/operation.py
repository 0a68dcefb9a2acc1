"""The operation ref's states, as a worker reads them from the remote (PROTOCOL §2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.identity import Fence, OperationId


class Mark(StrEnum):
    """What the newest commit of an operation's chain says; the last two are final."""

    STARTED = "started"
    GUARDED = "guarded"
    RESULT = "result"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Absent:
    """The remote has no such ref."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The remote did not answer, so nothing is known."""

    reason: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """There is a ref, but none of ours: malformed, of another operation, or a wrong digest."""

    sha: str
    reason: str


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest commit of the chain, checked to be ours."""

    sha: str
    mark: Mark
    operation: OperationId
    fence: Fence
    token_hash: str  #: of the claim that wrote it, so that no two commits are alike
    observation: bytes | None = None  #: canonical bytes; with RESULT alone
    candidate: str | None = None  #: head commit; with a green RESULT alone
    ref: str = ""  #: where the chain is


RemoteOperation = Absent | Unreadable | Foreign | Tip


class Mode(StrEnum):
    """Where the fence of an operation stands at its remote (PROTOCOL §2, §7)."""

    REF = "operation_ref"
    BRANCH = "operation_branch"  #: the same chain, where custom refs are refused
    DATABASE = "database"  #: nowhere: the remote takes no mark, and the payload is kept here first


REF_PREFIX = "refs/fencepost/operations/"
#: Where a remote refuses custom refs, the same chain is a branch (PROTOCOL §7).
BRANCH_PREFIX = "refs/heads/fencepost/operations/"


def ref_of(operation: OperationId) -> str:
    """The one ref of a provider operation."""
    return REF_PREFIX + operation


def branch_of(operation: OperationId) -> str:
    """The branch that stands for it at a remote which refuses custom refs."""
    return BRANCH_PREFIX + operation


def mode_of(ref: str) -> Mode:
    """Where a chain is, by the ref that holds it."""
    return Mode.BRANCH if ref.startswith(BRANCH_PREFIX) else Mode.REF
