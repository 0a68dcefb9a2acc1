"""`missions.author`: a command or an agent changes a checkout; green work becomes a candidate.

Names and shapes are the seed's (004): one Sandbox, one AgentExecution, every validation, commit and
friction with one ProducedBy edge, exactly one Candidate if and only if the evidence is green, and
CompleteAuthorActivityObservation (version 2) last (A09, A10). AuthorActivityObservation (version 1)
keeps its name; its rows resolve in a snapshot and settle nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.board import Decision, StepEnded
from app.domain.digest import Json
from app.domain.identity import EntityId, Kind
from app.domain.result import Outcome
from app.domain.world import Fact, World
from app.kinds.base import ORDINARY, STEP_ENDS, KindOf, Staging
from app.kinds.batch import Batch
from app.kinds.reading import integer, items, mapping, outputs_of, string

NAME = Kind("missions.author")
DISPATCH = "TaskDispatch"
MARKER = ("CompleteAuthorActivityObservation", 2)
MARKER_V1 = ("AuthorActivityObservation", 1)

LIMITS = ORDINARY


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
            "step": string(staging.request, "step"),
            "outputs": outputs_of(seen),
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
    """The step is over; what follows is the workflow's matter."""
    execution = world.fact(marker.entity, "AgentExecution")
    assert execution is not None
    outcome = Outcome(string(execution.value, "outcome"))
    return [
        StepEnded(
            string(execution.value, "attempt"), string(execution.value, "step"),
            STEP_ENDS[outcome], outcome, mapping(execution.value, "outputs"),
        )
    ]  # fmt: skip


def _stage_candidate(
    world: World, batch: Batch, task: EntityId, execution: EntityId, value: Mapping[str, Json]
) -> None:
    earlier = world.sources(task, "CandidateFor")
    candidate = batch.spawn("Candidate", value)
    batch.relate(candidate, "CandidateFor", task)
    batch.relate(candidate, "AuthoredBy", execution)
    if earlier:
        batch.relate(candidate, "Supersedes", earlier[-1])


AUTHOR = KindOf(NAME, DISPATCH, MARKER, LIMITS, stage, decide)
