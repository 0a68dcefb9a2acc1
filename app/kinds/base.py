"""What every kind of activity has: its name, its limits, and how its results become facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from app.domain.board import Decision, StepState
from app.domain.digest import Json
from app.domain.errors import SetupError
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


#: What the schema takes as a lease.
_LEAST, _MOST = timedelta(seconds=1), timedelta(hours=1)


class LimitsUnfit(SetupError):
    """Lease, heartbeat, deadline and stall limit of a kind do not go together (T08)."""

    code = "limits_unfit"
    hint = "correct the kind's limits, or FENCEPOST_LEASE"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a claim may go without a renewal, and what else waits for how long (T08)."""

    lease: timedelta
    heartbeat: timedelta
    deadline: timedelta  #: of a delivery: one that is older cannot be claimed (Q03)
    stall: timedelta  #: the longest silence of a run (E07)
    most_starts: int

    def __post_init__(self) -> None:
        """Limits that do not go together are LimitsUnfit, wherever they come from."""
        for is_right, rule in (
            (timedelta(0) < self.heartbeat, "a heartbeat takes some time"),
            (self.heartbeat * 3 <= self.lease, "a heartbeat is at most a third of its lease"),
            (_LEAST <= self.lease <= _MOST, "a lease is from a second to an hour"),
            (self.lease < self.deadline, "a delivery lives longer than a lease"),
            (self.lease <= self.stall, "a run may be silent for as long as a lease"),
            (self.most_starts > 0, "work may be started at least once"),
        ):
            if not is_right:
                raise LimitsUnfit(
                    f"{rule}: lease {self.lease}, heartbeat {self.heartbeat}, "
                    f"deadline {self.deadline}, stall {self.stall}"
                )

    def with_lease(self, lease: timedelta | None) -> Limits:
        """The same with another lease, and its heartbeat; None: as they are."""
        if lease is None:
            return self
        return replace(self, lease=lease, heartbeat=self.beat(lease))

    def beat(self, lease: timedelta) -> timedelta:
        """The heartbeat of a claim with this lease: in proportion, and no slower (O09)."""
        return min(self.heartbeat, self.heartbeat * (lease / self.lease))


#: What fits work of minutes on one host.
ORDINARY = Limits(
    lease=timedelta(seconds=15),
    heartbeat=timedelta(seconds=2.5),
    deadline=timedelta(minutes=15),
    stall=timedelta(hours=1),
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
    few: int | None = None  #: of it at once in all workers, unless somebody has set another limit
    only_looks: bool = False  #: a claim of it changes nothing outside; nothing is to be reconciled


def request_of(kind: KindOf, dispatch: Fact) -> dict[str, Json]:
    """The immutable request that a dispatch fact admits (A02)."""
    return {"v": 1, "kind": kind.name, "entity": dispatch.entity, **dispatch.value}
