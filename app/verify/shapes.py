"""The shape of each kind's result, recomputed from the recorded payload (A09)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.digest import Json, canonical

#: How a check of a forge concludes well.
PASSED = ("success", "neutral", "skipped")


@dataclass(frozen=True, slots=True)
class Result:
    """What a marker binds."""

    entity: int  #: of the marker
    outcome: str
    facts: Sequence[tuple[int, str, Mapping[str, Json]]]  #: entity, component, value
    edges: Sequence[tuple[int, str, int]]

    def of(self, component: str) -> list[tuple[int, Mapping[str, Json]]]:
        """The facts of a name, with their entities."""
        return [(entity, value) for entity, name, value in self.facts if name == component]

    def ends(self, source: int, relation: str) -> list[int]:
        """Where the edges of a name lead."""
        return [end for start, name, end in self.edges if (start, name) == (source, relation)]


def faults(kind: str, result: Result, payload: Mapping[str, Json]) -> Iterator[str]:
    """What of a result is not as its payload asks; a kind without a shape has none."""
    if kind in SHAPES:
        yield from SHAPES[kind](result, payload)


def _author(result: Result, payload: Mapping[str, Json]) -> Iterator[str]:
    yield from _execution(result, payload, "AgentExecution")
    yield from _produced(result, "Commit", payload.get("commits"))
    yield from _candidate(result, payload, result.ends(result.entity, "Executes"))


def _command(result: Result, payload: Mapping[str, Json]) -> Iterator[str]:
    yield from _execution(result, payload, "CommandExecution")


def _execution(result: Result, payload: Mapping[str, Json], name: str) -> Iterator[str]:
    """One execution of one thing, in one sandbox, with its validations and frictions."""
    sandboxes, executions = result.of("Sandbox"), result.of(name)
    if [value for _, value in sandboxes] != [payload.get("sandbox")]:
        yield "it has not exactly the one Sandbox of its payload"
    said = payload.get("execution")
    wanted = {**(said if isinstance(said, dict) else {}), "outcome": result.outcome}
    wanted |= {"outputs": payload["outputs"]} if "outputs" in payload else {}
    if [entity for entity, _ in executions] != [result.entity]:
        yield f"its entity is not its one {name}"
    elif any(executions[0][1].get(field) != value for field, value in wanted.items()):
        yield f"its {name} is not that of its payload"
    if result.ends(result.entity, "RunsIn") != [entity for entity, _ in sandboxes]:
        yield "its execution does not run in its sandbox"
    if len(result.ends(result.entity, "Executes")) != 1:
        yield "its execution does not execute exactly one thing"
    yield from _produced(result, "Validation", payload.get("checks"))
    yield from _produced(result, "Friction", payload.get("frictions"))


def _candidate(result: Result, payload: Mapping[str, Json], tasks: list[int]) -> Iterator[str]:
    """Exactly one if and only if the evidence is green."""
    candidates = result.of("Candidate")
    wanted = [payload.get("candidate")] if result.outcome == "green" else []
    if [value for _, value in candidates] != wanted:
        yield "it has a Candidate, and its evidence is not green, or the other way round"
    for entity, _ in candidates:
        if result.ends(entity, "CandidateFor") != tasks:
            yield "its Candidate is not for its task"
        if result.ends(entity, "AuthoredBy") != [result.entity]:
            yield "its Candidate is not authored by its execution"
        if len(result.ends(entity, "Supersedes")) > 1:
            yield "its Candidate supersedes several"


def _pull_request(result: Result, payload: Mapping[str, Json]) -> Iterator[str]:
    publications = [entity for entity, _ in result.of("Publication")]
    if publications != [result.entity]:
        yield "its entity is not its one Publication"
    candidates = result.ends(result.entity, "Publishes")
    if len(candidates) != 1:
        yield "its publication does not publish exactly one candidate"
    yield from _produced(result, "Friction", payload.get("frictions"))
    wanted = [payload.get("pull_request")] if result.outcome == "green" else []
    yield from _produced(result, "PullRequest", wanted)
    for entity, _ in result.of("PullRequest"):
        if result.ends(entity, "Proposes") != candidates:
            yield "its PullRequest does not propose its candidate"


def _checks(result: Result, payload: Mapping[str, Json]) -> Iterator[str]:
    watches, said = result.of("CheckWatch"), payload.get("watch")
    wanted = {**(said if isinstance(said, dict) else {}), "outcome": result.outcome}
    if [entity for entity, _ in watches] != [result.entity]:
        yield "its entity is not its one CheckWatch"
    elif any(watches[0][1].get(field) != value for field, value in wanted.items()):
        yield "its CheckWatch is not that of its payload"
    if len(result.ends(result.entity, "Watches")) != 1:
        yield "its watch does not watch for exactly one step"
    yield from _produced(result, "ForgeCheck", payload.get("checks"))
    yield from _produced(result, "Friction", payload.get("frictions"))
    listed = payload.get("checks")
    for check in listed if isinstance(listed, list) and result.outcome == "green" else []:
        if not isinstance(check, dict) or check.get("conclusion") not in PASSED:
            yield "it is green, and one of its checks has not passed"


def _produced(result: Result, component: str, said: Json) -> Iterator[str]:
    """Exactly the facts that the payload lists, each with one ProducedBy edge."""
    found = result.of(component)
    listed = said if isinstance(said, list) else []
    if Counter(canonical(value) for _, value in found) != Counter(map(canonical, listed)):
        yield f"its {component} facts are not those of its payload"
    for entity, _ in found:
        if result.ends(entity, "ProducedBy") != [result.entity]:
            yield f"its {component} {entity} has not exactly one ProducedBy"


SHAPES: Mapping[str, Callable[[Result, Mapping[str, Json]], Iterator[str]]] = {
    "missions.author": _author,
    "missions.command": _command,
    "forge.pull_request": _pull_request,
    "forge.checks": _checks,
}
