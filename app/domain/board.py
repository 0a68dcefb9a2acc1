"""The board's words: columns, work orders, and what processors decide about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.domain.bounds import Bound, Left
from app.domain.digest import Json
from app.domain.identity import ActivityId, Kind
from app.domain.result import Outcome


class Column(StrEnum):
    """Where a task's card hangs."""

    INBOX = "inbox"
    READY = "ready"
    IN_PROGRESS = "in_progress"
    REVIEW = "review"
    DONE = "done"
    CANCELED = "canceled"


#: Only from here may a task be dispatched (T02).
DISPATCHABLE = (Column.READY, Column.IN_PROGRESS)


class WorkOrderState(StrEnum):
    """How far a work order has come."""

    DRAFT = "draft"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    ACTIVE = "active"
    COMPLETED = "completed"
    CANCELED = "canceled"


class StepState(StrEnum):
    """How far a step of an attempt has come."""

    PENDING = "pending"
    DISPATCHED = "dispatched"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    CANCELED = "canceled"


class AttemptOutcome(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    CANCELED = "canceled"
    DEAD = "dead"
    ABANDONED = "abandoned"


# -- decisions: what processors say, and the tick carries out in the same transaction -----------


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step of the attempt is over; without an outcome it never ran."""

    attempt: str
    step: str
    state: StepState
    outcome: Outcome | None = None
    outputs: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepDispatched:
    """A step of the attempt is now this activity."""

    attempt: str
    step: str
    kind: Kind
    activity: ActivityId


@dataclass(frozen=True, slots=True)
class GateOpened:
    """A step of the attempt waits for a person (O12)."""

    attempt: str
    step: str


@dataclass(frozen=True, slots=True)
class StepWaits:
    """A step that is ready waits for a place; without a bound it waits no longer (O08)."""

    attempt: str
    step: str
    bound: Bound | None
    at: str = ""  #: the repository, and after a space the base, where the bound is theirs


@dataclass(frozen=True, slots=True)
class WriterEntered:
    """The attempt writes on this base, beside at most `bound` - 1 others (O08)."""

    attempt: str
    repository: str
    base: str
    bound: int


@dataclass(frozen=True, slots=True)
class WriterStays:
    """The attempt is about to end, and its request is open."""

    attempt: str
    request: int


@dataclass(frozen=True, slots=True)
class WriterLeft:
    """The attempt no longer keeps others from its base."""

    attempt: str
    because: Left
    sha: str | None = None  #: the base's commit then, where the forge was looked at


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """The attempt is over; a step that is unfinished all the same becomes `skipped` (O05)."""

    attempt: str
    outcome: AttemptOutcome


@dataclass(frozen=True, slots=True)
class TaskMoved:
    """The card of the attempt's task goes to another column."""

    attempt: str
    column: Column


Writing = WriterEntered | WriterStays | WriterLeft
Decision = StepEnded | StepDispatched | GateOpened | StepWaits | Writing | AttemptEnded | TaskMoved
