"""What an attempt's journal may hold: a closed set of types, and what decisions say in it (O04)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from app.domain.board import (
    AttemptEnded,
    AttemptOutcome,
    Decision,
    GateOpened,
    StepDispatched,
    StepEnded,
    StepState,
    StepWaits,
    TaskMoved,
    WriterEntered,
    WriterLeft,
    WriterStays,
)
from app.domain.digest import Json


class EventType(StrEnum):
    """What kind of thing happened; the set is closed, and the database holds it closed."""

    START = "start"
    STEP = "step"
    TOOL = "tool"
    COMMAND = "command"
    FILE = "file"
    ARTIFACT = "artifact"
    CHECKPOINT = "checkpoint"
    RETRY = "retry"
    HUMAN = "human"
    PAUSE = "pause"
    RESUME = "resume"
    FAILURE = "failure"
    COMPLETION = "completion"
    CANCELLATION = "cancellation"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Entry:
    """One event, as a worker writes it under its claim."""

    type: EventType
    value: bytes  #: canonical
    key: str | None = None  #: once in the attempt; its exact repeat adds nothing


@dataclass(frozen=True, slots=True)
class Told:
    """One event of an attempt, as the control plane tells it."""

    attempt: str
    type: EventType
    value: Mapping[str, Json]


def told_of(decision: Decision) -> Told | None:
    """How a decision reads in its attempt's journal; cards and bases are none of its own."""
    match decision:
        case StepDispatched(attempt, step, kind, activity):
            at = {"step": step, "state": StepState.DISPATCHED, "kind": kind, "activity": activity}
            return Told(attempt, EventType.STEP, at)
        case StepEnded(attempt, step, state, outcome):
            ended: dict[str, Json] = {"step": step, "state": state, "outcome": outcome}
            return Told(attempt, EventType.STEP, ended)
        case GateOpened(attempt, step):
            return Told(attempt, EventType.HUMAN, {"step": step, "state": "open"})
        case StepWaits(attempt, step, bound):
            waits: dict[str, Json] = {"step": step, "state": "waits", "for": bound}
            return Told(attempt, EventType.STEP, waits) if bound else None
        case AttemptEnded(attempt, outcome):
            return Told(attempt, _ENDINGS[outcome], {"outcome": outcome})
        case TaskMoved() | WriterEntered() | WriterStays() | WriterLeft():
            return None
        case _:
            assert_never(decision)


_ENDINGS: Mapping[AttemptOutcome, EventType] = {
    AttemptOutcome.DONE: EventType.COMPLETION,
    AttemptOutcome.UNCHANGED: EventType.COMPLETION,
    AttemptOutcome.FAILED: EventType.FAILURE,
    AttemptOutcome.DEAD: EventType.FAILURE,
    AttemptOutcome.CANCELED: EventType.CANCELLATION,
    AttemptOutcome.ABANDONED: EventType.CANCELLATION,
}
