"""`forge.pull_request`: a candidate becomes a request at the forge, exactly once.

An activity of its own, so that trouble at the forge never costs another run of the agent.
"""

from __future__ import annotations

from app.domain.board import Decision, StepEnded
from app.domain.identity import EntityId, Kind
from app.domain.result import Outcome
from app.domain.world import Fact, World
from app.kinds.base import ORDINARY, STEP_ENDS, KindOf, Staging
from app.kinds.batch import Batch
from app.kinds.reading import integer, items, mapping, string

NAME = Kind("forge.pull_request")
DISPATCH = "PullRequestDispatch"
MARKER = ("CompletePullRequestObservation", 1)

LIMITS = ORDINARY


def stage(world: World, staging: Staging) -> Fact:
    """What the forge showed, as one batch, the marker last."""
    candidate = EntityId(integer(staging.request, "entity"))
    seen = staging.observation.value
    batch = Batch(world)
    publication = batch.spawn(
        "Publication",
        {
            "attempt": string(staging.request, "attempt"),
            "step": string(staging.request, "step"),
            "dispatch": staging.result.key.activity,
            "outcome": staging.result.outcome,
        },
    )
    batch.relate(publication, "Publishes", candidate)
    for item in items(seen, "frictions"):
        batch.relate(batch.spawn("Friction", item), "ProducedBy", publication)
    if staging.result.outcome is Outcome.GREEN:
        request = batch.spawn("PullRequest", mapping(seen, "pull_request"))
        batch.relate(request, "Proposes", candidate)
        batch.relate(request, "ProducedBy", publication)
    return batch.complete(publication, MARKER, staging.result)


def decide(world: World, marker: Fact) -> list[Decision]:
    """The step is over; what follows is the workflow's matter."""
    publication = world.fact(marker.entity, "Publication")
    assert publication is not None
    outcome = Outcome(string(publication.value, "outcome"))
    attempt, step = string(publication.value, "attempt"), string(publication.value, "step")
    return [StepEnded(attempt, step, STEP_ENDS[outcome], outcome)]


#: A forge that is slow or limits us holds few slots, and no other queue waits for it (G04).
PULL_REQUEST = KindOf(NAME, DISPATCH, MARKER, LIMITS, stage, decide, few=8)
