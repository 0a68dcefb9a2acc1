"""Dispatching a step: the fact from which the projector admits its activity, or a gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from app.domain.board import GateOpened, StepDispatched
from app.domain.checks import TIMEOUT
from app.domain.digest import Json
from app.domain.errors import UnfitInput
from app.domain.executor import COMMAND
from app.domain.identity import ActivityId, ActivityKey, EntityId, Kind, dispatch_id, operation_id
from app.domain.work_order import Supersede, slug, tightest
from app.domain.world import Fact, World
from app.kinds import author, checks, command, evidence, pull_request
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
    StepKind.CHECKS: checks.NAME,
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
        case StepKind.CHECKS:
            _dispatch(change, checks.NAME, _checks(change.world, task, order, step), attempt)
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
    if "style" in order:
        style = mapping(order, "style")
        value["style"] = style
        if style["supersede"] == Supersede.CLOSE:
            value["supersedes"] = _earlier(world, task, candidate)
    return world.put(candidate.entity, pull_request.DISPATCH, 1, value)


def _checks(world: World, task: EntityId, order: Mapping[str, Json], step: Step) -> Fact:
    attempt = string(order, "attempt")
    proposed = request_of(world, task, attempt)
    if proposed is None:
        raise UnfitInput(f"step {step.name} has no request to watch")
    entity = world.spawn()
    world.relate(entity, "PartOfMission", task)
    value: dict[str, Json] = {
        **_named(world, checks.NAME, entity, 1, order, step),
        "attempt": attempt,
        "provider": string(order, "provider"),
        "repository": mapping(order, "repository"),
        "number": integer(proposed.value, "number"),
        "head": {
            "branch": string(proposed.value, "head"), "sha": string(proposed.value, "head_sha"),
        },
        "timeout_s": int((step.timeout or TIMEOUT).total_seconds()),
    }  # fmt: skip
    return world.put(entity, checks.DISPATCH, 1, value)


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
    """What runs; an order's agent does what is asked of it, and no other step."""
    work: dict[str, Json] = {
        "command": list(step.command), "checks": list(step.checks), "outputs": step.outputs,
    }  # fmt: skip
    return {**work, "executor": COMMAND} if step.prompt is None else {**work, "prompt": step.prompt}


def _retry(order: Mapping[str, Json], step: Step) -> dict[str, Json]:
    rules = tightest(rules_from(mapping(order, "retry")), step.retry)
    return {name: rule.value() for name, rule in rules.items()}


def _earlier(world: World, task: EntityId, candidate: Fact) -> list[Json]:
    """The requests that earlier candidates of the task have, by their numbers."""
    proposed = [
        world.fact(request, "PullRequest")
        for one in world.sources(task, "CandidateFor") if one != candidate.entity
        for request in world.sources(one, "Proposes")
    ]  # fmt: skip
    return [integer(fact.value, "number") for fact in proposed if fact is not None]


def candidate_of(world: World, task: EntityId, attempt: str) -> Fact | None:
    """The newest candidate of the task, if this attempt made it."""
    for entity in reversed(world.sources(task, "CandidateFor")):
        for execution in world.targets(entity, "AuthoredBy"):
            ran = world.fact(execution, "AgentExecution")
            if ran is not None and ran.value.get("attempt") == attempt:
                return world.fact(entity, "Candidate")
    return None


def request_of(world: World, task: EntityId, attempt: str) -> Fact | None:
    """The newest request that proposes this attempt's candidate."""
    candidate = candidate_of(world, task, attempt)
    proposed = [] if candidate is None else world.sources(candidate.entity, "Proposes")
    for entity in reversed(proposed):
        request = world.fact(entity, "PullRequest")
        if request is not None:
            return request
    return None
