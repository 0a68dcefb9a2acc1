"""What follows from how far the steps have come; pure, so that it can be asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.board import AttemptOutcome, StepState
from app.domain.bounds import Bound
from app.domain.digest import Json
from app.domain.result import Outcome
from app.workflow import condition
from app.workflow.graph import WAITING, Graph, Step, StepKind

_OVER = (
    StepState.SUCCEEDED, StepState.FAILED, StepState.BLOCKED, StepState.SKIPPED, StepState.CANCELED,
)  # fmt: skip
#: After one of these nothing new starts.
_STOPS = (StepState.FAILED, StepState.CANCELED)


@dataclass(frozen=True, slots=True)
class Waits:
    """What a step that is ready waits for (O08)."""

    bound: Bound
    at: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Came:
    """How far one step has come."""

    state: StepState
    outcome: Outcome | None = None
    outputs: Mapping[str, Json] = field(default_factory=dict)
    waits: Waits | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """What to do now; all of it in one transaction (O05)."""

    dispatch: tuple[str, ...] = ()
    end: tuple[tuple[str, StepState], ...] = ()  #: steps that will never run
    outcome: AttemptOutcome | None = None  #: the attempt is over


def after(
    graph: Graph, came: Mapping[str, Came], *, canceled: bool = False, paused: bool = False
) -> Next:
    """The steps to dispatch, those that end without running, and the attempt's end.

    A failure lets nothing new start; what runs is waited for. A step below a failed one is blocked,
    the other unfinished ones are skipped. A need that was skipped counts as met.
    """
    running = [name for name, step in came.items() if step.state is StepState.DISPATCHED]
    gates = [name for name in running if graph.step(name).kind is StepKind.GATE]
    waiting = [name for name in running if graph.step(name).kind in WAITING]
    stopped = [name for name, step in came.items() if step.state in _STOPS]
    if canceled or stopped:
        if set(running) - set(gates):
            return Next()  # what runs reconciles first
        return Next(end=tuple(_abandon(graph, came, stopped)), outcome=_worst(came))
    return _go_on(graph, came, len(running) - len(waiting), paused=paused)


def _go_on(graph: Graph, came: Mapping[str, Came], running: int, *, paused: bool) -> Next:
    states = {name: step.state for name, step in came.items()}
    ended: list[tuple[str, StepState]] = []
    ready: list[Step] = []
    unchanged = {n for n, step in came.items() if step.outcome is Outcome.UNCHANGED}
    for step in graph.steps:
        if states[step.name] is not StepState.PENDING:
            continue
        if step.name in graph.below(unchanged):
            states[step.name] = StepState.SKIPPED
        elif all(states[need] in _OVER for need in step.needs):
            may_run = step.when is None or condition.holds(step.when, _told(came))
            if may_run and _has_its_request(graph, step, states):
                ready.append(step)
                continue
            states[step.name] = StepState.SKIPPED
        else:
            continue
        ended.append((step.name, StepState.SKIPPED))
    room = graph.concurrency - running
    chosen: list[str] = []
    for step in ready if not paused else []:
        if step.kind in WAITING:
            chosen.append(step.name)
        elif room > 0:
            chosen.append(step.name)
            room -= 1
    over = not ready and all(state in _OVER for state in states.values())
    outcome = (AttemptOutcome.UNCHANGED if unchanged else AttemptOutcome.DONE) if over else None
    return Next(tuple(chosen), tuple(ended), outcome)


def _has_its_request(graph: Graph, step: Step, states: Mapping[str, StepState]) -> bool:
    """Whether a checks step has something to watch: a step that opens a request may be skipped."""
    return step.kind is not StepKind.CHECKS or any(
        states[one.name] is StepState.SUCCEEDED and step.name in graph.below([one.name])
        for one in graph.steps if one.kind is StepKind.PULL_REQUEST
    )  # fmt: skip


def _abandon(
    graph: Graph, came: Mapping[str, Came], stopped: list[str]
) -> list[tuple[str, StepState]]:
    below = graph.below(stopped)
    unfinished = [name for name, step in came.items() if step.state not in _OVER]
    return [
        (name, StepState.BLOCKED if name in below else StepState.SKIPPED) for name in unfinished
    ]


def _worst(came: Mapping[str, Came]) -> AttemptOutcome:
    outcomes = {step.outcome for step in came.values()}
    for outcome in (Outcome.DEAD, Outcome.FAILED, Outcome.ABANDONED):
        if outcome in outcomes:
            return AttemptOutcome(outcome)
    if any(step.state is StepState.FAILED for step in came.values()):
        return AttemptOutcome.FAILED
    return AttemptOutcome.CANCELED


def _told(came: Mapping[str, Came]) -> dict[str, dict[str, Json]]:
    return {
        name: {
            "state": step.state,
            "outcome": step.outcome,
            "outputs": dict(step.outputs),
        }
        for name, step in came.items()
    }
