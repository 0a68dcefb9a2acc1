"""Dispatching a step: the fact from which the projector admits its activity, or a gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from app.domain.board import GateOpened, StepDispatched
from app.domain.digest import Json
from app.domain.errors import UnfitInput
from app.domain.identity import ActivityId, ActivityKey, EntityId, Kind, dispatch_id, operation_id
from app.domain.work_order import slug, tightest
from app.domain.world import Fact, World
from app.kinds import author, command, evidence, pull_request
from app.kinds.reading import integer, mapping, string
from app.kinds.request import rules_from
from app.transitions.change import Change
from app.workflow.graph import Step, StepKind

#: How a step's row names what it becomes.
KIND_OF: dict[StepKind, str] = {
    StepKind.AUTHOR: author.NAME,
    StepKind.COMMAND: command.NAME,
    StepKind.GATE: "gate",
    StepKind.PULL_REQUEST: pull_request.NAME,
}


def dispatch_step(change: Change, task: EntityId, order: Mapping[str, Json], step: Step) -> None:
    """Put the step's dispatch into the world; a gate just opens."""
    attempt = string(order, "attempt")
    match step.kind:
        case StepKind.GATE:
            change.decide(GateOpened(attempt, step.name))
        case StepKind.AUTHOR:
            _dispatch(change, author.NAME, _author(change.world, task, order, step), attempt)
        case StepKind.COMMAND:
            _dispatch(change, command.NAME, _command(change.world, task, order, step), attempt)
        case StepKind.PULL_REQUEST:
            proposal = _pull_request(change.world, task, order, step)
            _dispatch(change, pull_request.NAME, proposal, attempt)
        case _:
            assert_never(step.kind)


def _dispatch(change: Change, kind: Kind, fact: Fact, attempt: str) -> None:
    activity = ActivityId(string(fact.value, "dispatch_id"))
    change.decide(StepDispatched(attempt, string(fact.value, "step"), kind, activity))


def _author(world: World, task: EntityId, order: Mapping[str, Json], step: Step) -> Fact:
    earlier = world.fact(task, author.DISPATCH)
    sequence = 1 if earlier is None else integer(earlier.value, "sequence") + 1
    named = _named(world, author.NAME, task, sequence, order, step)
    branch = f"fencepost/{slug(string(order, 'title'))}-{string(named, 'operation')[:10]}"
    value = {**order, **named, **_work(step), "branch": branch}
    return world.put(task, author.DISPATCH, 1, value)


def _command(world: World, task: EntityId, order: Mapping[str, Json], step: Step) -> Fact:
    entity = world.spawn()
    world.relate(entity, "PartOfMission", task)
    named = _named(world, command.NAME, entity, 1, order, step)
    candidate = candidate_of(world, task, string(order, "attempt"))
    base = mapping(order, "base")
    if candidate is not None:
        base = {"branch": base["branch"], "sha": string(candidate.value, "head")}
    value = {**order, **named, **_work(step), "base": base, "branch": None}
    return world.put(entity, command.DISPATCH, 1, value)


def _pull_request(world: World, task: EntityId, order: Mapping[str, Json], step: Step) -> Fact:
    candidate = candidate_of(world, task, string(order, "attempt"))
    dispatched = world.fact(task, author.DISPATCH)
    if candidate is None or dispatched is None:
        raise UnfitInput(f"step {step.name} has no candidate to propose")
    (execution,) = world.targets(candidate.entity, "AuthoredBy")
    ran = world.fact(execution, "AgentExecution")
    assert ran is not None
    value: dict[str, Json] = {
        **_named(world, pull_request.NAME, candidate.entity, 1, order, step),
        "attempt": string(order, "attempt"),
        "provider": string(order, "provider"),
        "repository": mapping(order, "repository"),
        "base": mapping(order, "base"),
        "head": {
            "branch": string(candidate.value, "branch"),
            "sha": string(candidate.value, "head"),
        },
        "title": string(order, "title"),
        "body": evidence.body(world, dispatched.value, candidate, ran),
        "author": mapping(order, "author"),
    }
    return world.put(candidate.entity, pull_request.DISPATCH, 1, value)


def _named(
    world: World, kind: Kind, entity: EntityId, sequence: int, order: Mapping[str, Json], step: Step
) -> dict[str, Json]:
    activity = dispatch_id(entity, sequence)
    provider = string(order, "provider")
    return {
        "dispatch_id": activity,
        "sequence": sequence,
        "step": step.name,
        "operation": operation_id(ActivityKey(world.id, kind, activity), provider),
        "retry": _retry(order, step),
    }


def _work(step: Step) -> dict[str, Json]:
    return {"command": list(step.command), "checks": list(step.checks), "outputs": step.outputs}


def _retry(order: Mapping[str, Json], step: Step) -> dict[str, Json]:
    rules = tightest(rules_from(mapping(order, "retry")), step.retry)
    return {name: rule.value() for name, rule in rules.items()}


def candidate_of(world: World, task: EntityId, attempt: str) -> Fact | None:
    """The newest candidate of the task, if this attempt made it."""
    for entity in reversed(world.sources(task, "CandidateFor")):
        for execution in world.targets(entity, "AuthoredBy"):
            ran = world.fact(execution, "AgentExecution")
            if ran is not None and ran.value.get("attempt") == attempt:
                return world.fact(entity, "Candidate")
    return None
