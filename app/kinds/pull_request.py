"""`forge.pull_request`: a candidate becomes a request at the forge, exactly once.

An activity of its own, so that trouble at the forge never costs another run of the agent.
"""

from __future__ import annotations

from datetime import timedelta

from app.domain.board import (
    AttemptEnded,
    AttemptOutcome,
    Column,
    Decision,
    StepEnded,
    StepState,
    TaskMoved,
)
from app.domain.identity import EntityId, Kind
from app.domain.result import Outcome
from app.domain.world import Fact, World
from app.kinds.base import KindOf, Limits, Staging
from app.kinds.batch import Batch
from app.kinds.reading import integer, items, mapping, string

NAME = Kind("forge.pull_request")
STEP = "pull_request"
DISPATCH = "PullRequestDispatch"
MARKER = ("CompletePullRequestObservation", 1)

LIMITS = Limits(
    lease=timedelta(seconds=15),
    heartbeat=timedelta(seconds=4),
    deadline=timedelta(minutes=15),
    most_starts=5,
)


def stage(world: World, staging: Staging) -> Fact:
    """What the forge showed, as one batch, the marker last."""
    candidate = EntityId(integer(staging.request, "entity"))
    seen = staging.observation.value
    batch = Batch(world)
    publication = batch.spawn(
        "Publication",
        {
            "attempt": string(staging.request, "attempt"),
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
    """An open request hands the task to its reviewers; anything else ends the attempt."""
    publication = world.fact(marker.entity, "Publication")
    assert publication is not None
    attempt = string(publication.value, "attempt")
    step, end, column = _ENDS[Outcome(string(publication.value, "outcome"))]
    return [
        StepEnded(attempt, STEP, step),
        AttemptEnded(attempt, end),
        TaskMoved(attempt, column),
    ]


_ENDS = {
    Outcome.GREEN: (StepState.SUCCEEDED, AttemptOutcome.DONE, Column.REVIEW),
    Outcome.UNCHANGED: (StepState.FAILED, AttemptOutcome.FAILED, Column.IN_PROGRESS),
    Outcome.FAILED: (StepState.FAILED, AttemptOutcome.FAILED, Column.IN_PROGRESS),
    Outcome.CANCELED: (StepState.CANCELED, AttemptOutcome.CANCELED, Column.READY),
    Outcome.DEAD: (StepState.FAILED, AttemptOutcome.DEAD, Column.IN_PROGRESS),
    Outcome.ABANDONED: (StepState.CANCELED, AttemptOutcome.ABANDONED, Column.READY),
}

PULL_REQUEST = KindOf(NAME, STEP, DISPATCH, MARKER, LIMITS, stage, decide)
