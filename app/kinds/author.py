"""`missions.author`: a command or an agent changes a checkout; green work becomes a candidate.

Names and shapes are the seed's (004): one Sandbox, one AgentExecution, every validation, commit and
friction with one ProducedBy edge, exactly one Candidate if and only if the evidence is green, and
CompleteAuthorActivityObservation (version 2) last (A09, A10). AuthorActivityObservation (version 1)
keeps its name; its rows resolve in a snapshot and settle nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from app.domain.board import (
    AttemptEnded,
    AttemptOutcome,
    Column,
    Decision,
    StepDispatched,
    StepEnded,
    StepState,
    TaskMoved,
)
from app.domain.digest import Json
from app.domain.identity import ActivityKey, EntityId, Kind, dispatch_id, operation_id
from app.domain.result import Outcome
from app.domain.world import Fact, World
from app.kinds import evidence, pull_request
from app.kinds.base import KindOf, Limits, Staging
from app.kinds.batch import Batch
from app.kinds.reading import integer, items, mapping, string

NAME = Kind("missions.author")
STEP = "author"
DISPATCH = "TaskDispatch"
CANCEL_REQUEST = "CancelRequest"
MARKER = ("CompleteAuthorActivityObservation", 2)
MARKER_V1 = ("AuthorActivityObservation", 1)

LIMITS = Limits(
    lease=timedelta(seconds=15),
    heartbeat=timedelta(seconds=4),
    deadline=timedelta(minutes=15),
    most_starts=5,
)


def stage(world: World, staging: Staging) -> Fact:
    """The whole observation as one batch, the marker last."""
    task = EntityId(integer(staging.request, "entity"))
    seen = staging.observation.value
    batch = Batch(world)
    sandbox = batch.spawn("Sandbox", mapping(seen, "sandbox"))
    batch.relate(sandbox, "PartOfMission", task)
    execution = batch.spawn(
        "AgentExecution",
        {
            "attempt": string(staging.request, "attempt"),
            "dispatch": staging.result.key.activity,
            "outcome": staging.result.outcome,
            **mapping(seen, "execution"),
        },
    )
    batch.relate(execution, "Executes", task)
    batch.relate(execution, "RunsIn", sandbox)
    for component, name in (
        ("Validation", "checks"),
        ("Commit", "commits"),
        ("Friction", "frictions"),
    ):
        for item in items(seen, name):
            batch.relate(batch.spawn(component, item), "ProducedBy", execution)
    if staging.result.outcome is Outcome.GREEN:
        _stage_candidate(world, batch, task, execution, mapping(seen, "candidate"))
    return batch.complete(execution, MARKER, staging.result)


def decide(world: World, marker: Fact) -> list[Decision]:
    """What follows from an author's observation: a pull request, or the end of the attempt."""
    execution = world.fact(marker.entity, "AgentExecution")
    assert execution is not None
    attempt = string(execution.value, "attempt")
    (task,) = world.targets(marker.entity, "Executes")
    outcome = Outcome(string(execution.value, "outcome"))
    if outcome is Outcome.GREEN and not _cancel_requested(world, task, attempt):
        (candidate,) = world.sources(marker.entity, "AuthoredBy")
        return [
            StepEnded(attempt, STEP, StepState.SUCCEEDED),
            _dispatch_pull_request(world, task, candidate, execution),
        ]
    if outcome is Outcome.GREEN:
        outcome = Outcome.CANCELED
    return [StepEnded(attempt, STEP, STEP_ENDS[outcome]), *_end(attempt, outcome)]


STEP_ENDS = {
    Outcome.GREEN: StepState.SUCCEEDED,
    Outcome.UNCHANGED: StepState.SUCCEEDED,
    Outcome.FAILED: StepState.FAILED,
    Outcome.CANCELED: StepState.CANCELED,
    Outcome.DEAD: StepState.FAILED,
    Outcome.ABANDONED: StepState.CANCELED,
}


def _end(attempt: str, outcome: Outcome) -> list[Decision]:
    column = {
        Outcome.UNCHANGED: Column.DONE,
        Outcome.CANCELED: Column.READY,
        Outcome.ABANDONED: Column.READY,
    }.get(outcome, Column.IN_PROGRESS)
    return [AttemptEnded(attempt, AttemptOutcome(outcome)), TaskMoved(attempt, column)]


def _stage_candidate(
    world: World, batch: Batch, task: EntityId, execution: EntityId, value: Mapping[str, Json]
) -> None:
    earlier = world.sources(task, "CandidateFor")
    candidate = batch.spawn("Candidate", value)
    batch.relate(candidate, "CandidateFor", task)
    batch.relate(candidate, "AuthoredBy", execution)
    if earlier:
        batch.relate(candidate, "Supersedes", earlier[-1])


def _cancel_requested(world: World, task: EntityId, attempt: str) -> bool:
    request = world.fact(task, CANCEL_REQUEST)
    return request is not None and request.value.get("attempt") == attempt


def _dispatch_pull_request(
    world: World, task: EntityId, candidate: EntityId, execution: Fact
) -> StepDispatched:
    dispatched = world.fact(task, DISPATCH)
    proposed = world.fact(candidate, "Candidate")
    assert dispatched is not None
    assert proposed is not None
    activity = dispatch_id(candidate, 1)
    key = ActivityKey(world.id, pull_request.NAME, activity)
    order = dispatched.value
    value: dict[str, Json] = {
        "dispatch_id": activity,
        "sequence": 1,
        "attempt": string(order, "attempt"),
        "step": pull_request.STEP,
        "operation": operation_id(key, string(order, "provider")),
        "provider": string(order, "provider"),
        "repository": mapping(order, "repository"),
        "base": mapping(order, "base"),
        "head": {"branch": string(proposed.value, "branch"), "sha": string(proposed.value, "head")},
        "title": string(order, "title"),
        "body": evidence.body(world, order, proposed, execution),
        "author": mapping(order, "author"),
    }
    world.put(candidate, pull_request.DISPATCH, 1, value)
    return StepDispatched(string(order, "attempt"), pull_request.STEP, pull_request.NAME, activity)


AUTHOR = KindOf(NAME, STEP, DISPATCH, MARKER, LIMITS, stage, decide)
