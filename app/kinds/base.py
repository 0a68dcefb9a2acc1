"""What every kind of activity has: its name, its limits, and how its results become facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.domain.board import Decision, StepState
from app.domain.digest import Json
from app.domain.identity import Kind
from app.domain.result import Observation, Outcome, ResultRef
from app.domain.world import Fact, World

#: What an outcome makes of its step.
STEP_ENDS = {
    Outcome.GREEN: StepState.SUCCEEDED,
    Outcome.UNCHANGED: StepState.SUCCEEDED,
    Outcome.FAILED: StepState.FAILED,
    Outcome.CANCELED: StepState.CANCELED,
    Outcome.DEAD: StepState.FAILED,
    Outcome.ABANDONED: StepState.CANCELED,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a claim may go without a renewal, and how often the work may be started."""

    lease: timedelta
    heartbeat: timedelta
    deadline: timedelta  #: of a delivery: one that is older cannot be claimed (Q03)
    most_starts: int

    def __post_init__(self) -> None:
        """A heartbeat is at most a third of its lease (T08)."""
        if self.heartbeat * 3 > self.lease:
            raise ValueError(f"heartbeat {self.heartbeat} is over a third of lease {self.lease}")


#: What fits work of minutes on one host.
ORDINARY = Limits(
    lease=timedelta(seconds=15),
    heartbeat=timedelta(seconds=4),
    deadline=timedelta(minutes=15),
    most_starts=5,
)


@dataclass(frozen=True, slots=True)
class Staging:
    """One recorded result on its way into the world."""

    request: Mapping[str, Json]
    result: ResultRef
    observation: Observation


@dataclass(frozen=True, slots=True)
class KindOf:
    """One kind of activity: pure functions over the world in memory."""

    name: Kind
    dispatch: str  #: the component whose appearance admits an activity
    marker: tuple[str, int]  #: name and version of its completion record
    limits: Limits
    stage: Callable[[World, Staging], Fact]  #: every fact of a result, the marker last
    decide: Callable[[World, Fact], list[Decision]]  #: from the marker, inside the tick (A06)


def request_of(kind: KindOf, dispatch: Fact) -> dict[str, Json]:
    """The immutable request that a dispatch fact admits (A02)."""
    return {"v": 1, "kind": kind.name, "entity": dispatch.entity, **dispatch.value}
