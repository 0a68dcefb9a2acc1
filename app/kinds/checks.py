"""`forge.checks`: the checks of the exact head of a request are watched until they conclude (O10).

It only looks: nothing is bound, started or called, and nothing is merged.
"""

from __future__ import annotations

from app.domain.board import Decision, StepEnded
from app.domain.identity import EntityId, Kind
from app.domain.result import Outcome
from app.domain.world import Fact, World
from app.kinds.base import ORDINARY, STEP_ENDS, KindOf, Staging
from app.kinds.batch import Batch
from app.kinds.reading import integer, items, mapping, string

NAME = Kind("forge.checks")
DISPATCH = "ChecksDispatch"
MARKER = ("CompleteChecksObservation", 1)

LIMITS = ORDINARY


def stage(world: World, staging: Staging) -> Fact:
    """What the forge showed, as one batch, the marker last."""
    step = EntityId(integer(staging.request, "entity"))
    seen = staging.observation.value
    batch = Batch(world)
    watch = batch.spawn(
        "CheckWatch",
        {
            "attempt": string(staging.request, "attempt"),
            "step": string(staging.request, "step"),
            "dispatch": staging.result.key.activity,
            "outcome": staging.result.outcome,
            **(mapping(seen, "watch") if "watch" in seen else {}),
        },
    )
    batch.relate(watch, "Watches", step)
    for component, name in (("ForgeCheck", "checks"), ("Friction", "frictions")):
        for item in items(seen, name):
            batch.relate(batch.spawn(component, item), "ProducedBy", watch)
    return batch.complete(watch, MARKER, staging.result)


def decide(world: World, marker: Fact) -> list[Decision]:
    """The step is over; what follows is the workflow's matter."""
    watch = world.fact(marker.entity, "CheckWatch")
    assert watch is not None
    outcome = Outcome(string(watch.value, "outcome"))
    attempt, step = string(watch.value, "attempt"), string(watch.value, "step")
    return [StepEnded(attempt, step, STEP_ENDS[outcome], outcome)]


CHECKS = KindOf(NAME, DISPATCH, MARKER, LIMITS, stage, decide, only_looks=True)
