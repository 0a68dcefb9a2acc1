"""Workflow definitions, compiled into a graph or refused with the node named (O02)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter

from app.domain.digest import Json
from app.domain.errors import BadInput
from app.domain.work_order import RETRIED, RetryRule
from app.workflow import condition, contract

MOST_STEPS = 200
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class StepKind(StrEnum):
    """What a step does."""

    AUTHOR = "author"  #: changes a checkout; green work becomes the attempt's candidate
    COMMAND = "command"  #: runs on the candidate, or on the base before there is one
    GATE = "gate"  #: waits for a person, without a worker
    PULL_REQUEST = "pull_request"  #: proposes the candidate at the forge
    CHECKS = "checks"  #: watches the checks of what was proposed, without a worker between looks


#: What waits for others, and takes no place among what runs.
WAITING = (StepKind.GATE, StepKind.CHECKS)


class WorkflowFault(BadInput):
    """A workflow definition cannot be compiled; `node` is the step that is at fault."""

    code = "bad_workflow"
    hint = "see docs/work-orders.md for what a workflow may say"

    def __init__(self, message: str, *, fault: str = "bad_workflow", node: str = "") -> None:
        super().__init__(f"step {node}: {message}" if node else message)
        self.code = fault  # type: ignore[misc]  # one code a fault, stable as any
        self.node = node


def _fault(code: str, node: str, message: str) -> WorkflowFault:
    return WorkflowFault(message, fault=code, node=node)


@dataclass(frozen=True, slots=True)
class Step:
    """One node of the graph."""

    name: str
    kind: StepKind
    needs: tuple[str, ...]
    when: str | None  #: a condition over the steps before it
    command: tuple[str, ...]
    prompt: str | None  #: for the work order's agent, in place of a command
    checks: tuple[str, ...]
    outputs: Mapping[str, Json] | None  #: the JSON Schema of what it writes
    retry: Mapping[str, RetryRule] = field(default_factory=dict)  #: tightens the work order's (T09)
    timeout: timedelta | None = None  #: of a checks step; None: the usual one


@dataclass(frozen=True, slots=True)
class Graph:
    """A workflow that can run; its steps are in an order that respects every need."""

    steps: tuple[Step, ...]
    concurrency: int

    def step(self, name: str) -> Step:
        """The step of this name."""
        return next(step for step in self.steps if step.name == name)

    def below(self, names: Iterable[str]) -> set[str]:
        """Every step that needs one of these, at any distance."""
        found = set(names)
        for step in self.steps:
            if found.intersection(step.needs):
                found.add(step.name)
        return found - set(names)


def default_definition(
    command: Sequence[str], checks: Sequence[str], prompt: str | None = None
) -> dict[str, Json]:
    """The road of a single command, or of what an agent is asked: author, then pull request."""
    what: dict[str, Json] = {"command": list(command)} if prompt is None else {"prompt": prompt}
    return {
        "v": 1,
        "concurrency": 1,
        "steps": [
            {"name": "author", "kind": "author", **what, "checks": list(checks)},
            {"name": "pull_request", "kind": "pull_request", "needs": ["author"]},
        ],
    }


def compile_workflow(definition: Mapping[str, Json]) -> Graph:
    """The graph of a definition, or the first WorkflowFault in it."""
    written = definition.get("steps")
    if not isinstance(written, list) or not written:
        raise _fault("no_steps", "", "a workflow has at least one step")
    if len(written) > MOST_STEPS:
        raise _fault("too_many_steps", "", f"{len(written)} steps; {MOST_STEPS} are allowed")
    concurrency = definition.get("concurrency", 1)
    if type(concurrency) is not int or concurrency < 1:
        raise _fault("bad_concurrency", "", "the concurrency bound is below one")
    steps = [_step(value) for value in written]
    by_name = _named(steps)
    _check_needs(steps, by_name)
    ordered = _ordered(steps, by_name)
    graph = Graph(tuple(ordered), concurrency)
    for step in ordered:
        _check_condition(graph, step, by_name)
        _check_place(graph, step)
    return graph


def _step(value: Json) -> Step:
    if not isinstance(value, Mapping):
        raise _fault("bad_step", "", "a step is an object with a name and a kind")
    name = value.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _fault("bad_step_name", str(name), "a name is a lower-case word")
    if value.get("kind") not in list(StepKind):
        raise _fault("unknown_step_kind", name, f"no kind {value.get('kind')!r}")
    when = value.get("when")
    if when is not None and not isinstance(when, str):
        raise _fault("bad_condition", name, "a condition is a text")
    prompt = value.get("prompt")
    if prompt is not None and (not isinstance(prompt, str) or value["kind"] != StepKind.AUTHOR):
        raise _fault("bad_step", name, "a prompt is a text, and an author's")
    outputs = value.get("outputs")
    if outputs is not None:
        problem = contract.problem_of(outputs)
        if problem:
            raise _fault("bad_output_contract", name, problem)
    return Step(
        name=name,
        kind=StepKind(str(value["kind"])),
        needs=_words(value, "needs", name),
        when=when,
        command=_words(value, "command", name),
        prompt=prompt,
        checks=_words(value, "checks", name),
        outputs=outputs if isinstance(outputs, Mapping) else None,
        retry=_retry(value, name),
        timeout=_timeout(value, name),
    )


def _timeout(value: Mapping[str, Json], node: str) -> timedelta | None:
    written = value.get("timeout_s")
    if written is None:
        return None
    if type(written) is not int or written < 1:
        raise _fault("bad_timeout", node, "a timeout is at least a second")
    return timedelta(seconds=written)


def _retry(value: Mapping[str, Json], node: str) -> dict[str, RetryRule]:
    written = value.get("retry") or {}
    if not isinstance(written, Mapping) or not set(written) <= set(RETRIED):
        raise _fault("bad_retry", node, f"retry is by failure class: {', '.join(RETRIED)}")
    return {name: _rule(rule, node) for name, rule in written.items()}


def _rule(rule: Json, node: str) -> RetryRule:
    said = rule if isinstance(rule, Mapping) else {}
    tries, pause = said.get("attempts"), said.get("backoff_s")
    if type(tries) is not int or tries < 0 or not (pause is None or type(pause) is int):
        raise _fault("bad_retry", node, "a rule has attempts, from 0 on, and may have backoff_s")
    return RetryRule(tries, None if pause is None else timedelta(seconds=pause))


def _words(value: Mapping[str, Json], field: str, node: str) -> tuple[str, ...]:
    found = value.get(field) or []
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise _fault("bad_step", node, f"{field} is a list of texts")
    return tuple(str(word) for word in found)


def _named(steps: Sequence[Step]) -> dict[str, Step]:
    found: dict[str, Step] = {}
    for step in steps:
        if step.name in found:
            raise _fault("duplicate_step", step.name, "the name is used twice")
        found[step.name] = step
    return found


def _check_needs(steps: Sequence[Step], by_name: Mapping[str, Step]) -> None:
    for step in steps:
        for need in step.needs:
            if need == step.name:
                raise _fault("self_dependency", step.name, "it needs itself")
            if need not in by_name:
                raise _fault("unknown_dependency", step.name, f"it needs {need}, unknown")


def _ordered(steps: Sequence[Step], by_name: Mapping[str, Step]) -> list[Step]:
    sorter = TopologicalSorter({step.name: step.needs for step in steps})
    try:
        order = list(sorter.static_order())
    except CycleError as fault:
        path = list(reversed(fault.args[1]))
        raise _fault("cycle", path[0], "needs " + " → ".join(path)) from None
    return [by_name[name] for name in order]


def _check_condition(graph: Graph, step: Step, by_name: Mapping[str, Step]) -> None:
    if step.when is None:
        return
    try:
        references = condition.references(step.when)
    except condition.BadCondition as fault:
        raise _fault("bad_condition", step.name, str(fault)) from None
    for name, asked in references:
        if name not in by_name or step.name not in graph.below([name]):
            raise _fault("bad_condition", step.name, f"{name} does not run before it")
        if asked == "outputs" and by_name[name].outputs is None:
            raise _fault(
                "missing_output_contract", name, f"{step.name} reads its outputs; declare them"
            )


def _check_place(graph: Graph, step: Step) -> None:
    authors = [one for one in graph.steps if one.kind is StepKind.AUTHOR]
    if len(authors) > 1:
        raise _fault("several_authors", authors[1].name, "one author writes the branch")
    runs = step.kind in (StepKind.AUTHOR, StepKind.COMMAND)
    if runs and not step.command and step.prompt is None:
        raise _fault("missing_command", step.name, "it has no command")
    if step.kind is StepKind.PULL_REQUEST and not (
        authors and step.name in graph.below([authors[0].name])
    ):
        raise _fault("nothing_to_propose", step.name, "it needs the author step")
    proposing = [one.name for one in graph.steps if one.kind is StepKind.PULL_REQUEST]
    if step.kind is StepKind.CHECKS and step.name not in graph.below(proposing):
        raise _fault("nothing_to_watch", step.name, "it needs a pull_request step")
    if step.kind is not StepKind.CHECKS and step.timeout is not None:
        raise _fault("bad_timeout", step.name, "only a checks step has a timeout of its own")
