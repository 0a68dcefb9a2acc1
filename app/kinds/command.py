"""`missions.command`: a command runs on the candidate, or on the base before there is one.

What it changes is thrown away; its exit, its checks and its outputs are what counts.
"""

from __future__ import annotations

from app.domain.board import Decision, StepEnded
from app.domain.identity import EntityId, Kind
from app.domain.result import Outcome
from app.domain.world import Fact, World
from app.kinds.base import ORDINARY, STEP_ENDS, KindOf, Staging
from app.kinds.batch import Batch
from app.kinds.reading import integer, items, mapping, outputs_of, string

NAME = Kind("missions.command")
DISPATCH = "CommandDispatch"
MARKER = ("CompleteCommandObservation", 1)

LIMITS = ORDINARY


def stage(world: World, staging: Staging) -> Fact:
    """The whole observation as one batch, the marker last."""
    step = EntityId(integer(staging.request, "entity"))
    seen = staging.observation.value
    batch = Batch(world)
    sandbox = batch.spawn("Sandbox", mapping(seen, "sandbox"))
    execution = batch.spawn(
        "CommandExecution",
        {
            "attempt": string(staging.request, "attempt"),
            "step": string(staging.request, "step"),
            "outputs": outputs_of(seen),
            "dispatch": staging.result.key.activity,
            "outcome": staging.result.outcome,
            **mapping(seen, "execution"),
        },
    )
    batch.relate(sandbox, "PartOfMission", step)
    batch.relate(execution, "Executes", step)
    batch.relate(execution, "RunsIn", sandbox)
    for component, name in (("Validation", "checks"), ("Friction", "frictions")):
        for item in items(seen, name):
            batch.relate(batch.spawn(component, item), "ProducedBy", execution)
    return batch.complete(execution, MARKER, staging.result)


def decide(world: World, marker: Fact) -> list[Decision]:
    """The step is over; what follows is the workflow's matter."""
    execution = world.fact(marker.entity, "CommandExecution")
    assert execution is not None
    outcome = Outcome(string(execution.value, "outcome"))
    attempt, step = string(execution.value, "attempt"), string(execution.value, "step")
    outputs = mapping(execution.value, "outputs")
    return [StepEnded(attempt, step, STEP_ENDS[outcome], outcome, outputs)]


COMMAND = KindOf(NAME, DISPATCH, MARKER, LIMITS, stage, decide)
