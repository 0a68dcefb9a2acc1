"""A work order file, read: what it asks for, or every fault in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, cast

from app.domain import executor
from app.domain.digest import Json
from app.domain.duration import duration
from app.domain.errors import BadInput, UnsafePath
from app.domain.extent import Extent, check_folders
from app.domain.scope import check_patterns
from app.domain.work_order import (
    Agent,
    Budget,
    MergeStrategy,
    Specification,
    Style,
    Supersede,
    shortened,
)
from app.intake import checking
from app.intake.document import Document, parse
from app.intake.fault import Fault, Unreadable, unfit
from app.intake.workflow import definition, rule_of, words, workflow_faults

_TIMEOUT, _CHECK_TIMEOUT = timedelta(minutes=30), timedelta(minutes=10)
_DURATIONS = ("timeout", "check_timeout", "wall_time", "backoff")


@dataclass(frozen=True, slots=True)
class WorkOrderFile:
    """What a file asks for; which commit that starts from is for the repository to say."""

    repository: str  #: a path, seen from the file's folder, or a URL
    base: str | None  #: None: the current branch
    specification: Specification  #: its base is still empty


def read(data: bytes, name: str) -> WorkOrderFile:
    """Read a file; UnfitFile with every fault that was found, each with line and column."""
    try:
        document = parse(data)
    except Unreadable as stop:
        raise unfit(name, [stop.fault]) from None
    found = list(checking.faults(document)) or list(_faults(document))
    if found:
        raise unfit(name, found)
    return _read(cast("dict[str, Any]", document.value))


def _faults(document: Document) -> Iterator[Fault]:
    """What no schema can tell, in a document whose form is right."""
    value = cast("dict[str, Any]", document.value)
    for name in ("paths", "exclude"):
        yield from _pattern_faults(document, name, value.get(name, []))
    yield from _folder_faults(document, value.get("checkout", {}).get("sparse", []))
    yield from _leaf_faults(document, value)
    agent = value.get("agent")
    if agent and agent["name"] not in (known := executor.agents()):
        installed = ", ".join(sorted(known))
        words = f"no agent {agent['name']!r} is installed here; installed: {installed}"
        yield Fault(document.place(("agent", "name")), "agent_not_installed", words)
    if "workflow" in value:
        yield from workflow_faults(document, value)


def _pattern_faults(document: Document, name: str, patterns: Sequence[str]) -> Iterator[Fault]:
    for number, pattern in enumerate(patterns):
        try:
            forms = check_patterns([pattern])
            if any(form.startswith("!") for form in forms):
                raise UnsafePath(f"what may not change is listed under exclude: {pattern!r}")
        except BadInput as fault:
            yield Fault(document.place((name, number)), fault.code, fault.message)


def _folder_faults(document: Document, folders: Sequence[str]) -> Iterator[Fault]:
    for number, folder in enumerate(folders):
        try:
            check_folders([folder])
        except BadInput as fault:
            place = document.place(("checkout", "sparse", number))
            yield Fault(place, fault.code, fault.message)


def _leaf_faults(document: Document, value: Mapping[str, Any]) -> Iterator[Fault]:
    """Durations that are too short or too long, and fractions, which canonical bytes lack."""
    for path, one in _leaves(value, ()):
        name = checking.shown_path(path)
        if isinstance(one, Decimal) and path != ("budget", "cost"):
            words = f"{name} is a whole number, not {one}"
            yield Fault(document.place(path), "wrong_type", words)
        of_step = path[:2] == ("workflow", "steps") and path[3:] == ("timeout",)
        if of_step or (path[-1] in _DURATIONS and {"limits", "budget", "retry"}.intersection(path)):
            try:
                duration(one)
            except BadInput as fault:
                yield Fault(document.place(path), "out_of_range", f"{name}: {fault.message}")


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, (*path, name))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _leaves(one, (*path, number))
    else:
        yield path, value


def _read(value: Mapping[str, Any]) -> WorkOrderFile:
    limits, agent = value.get("limits", {}), value.get("agent")
    command = words(value.get("command", []))
    workflow = definition(value)
    named = agent["prompt"] if agent else " ".join(command) or "Change the source"
    merge = value.get("merge", "serial")
    specification = Specification(
        title=shortened(value.get("title") or named),
        base="",
        paths=(*value.get("paths", []), *(f"!{one}" for one in value.get("exclude", []))),
        command=tuple(command),
        checks=tuple(value.get("checks", [])),
        timeout=duration(limits["timeout"]) if "timeout" in limits else _TIMEOUT,
        check_timeout=(
            duration(limits["check_timeout"]) if "check_timeout" in limits else _CHECK_TIMEOUT
        ),
        executor=executor.agents()[agent["name"]] if agent else executor.COMMAND,
        agent=Agent(agent["name"], agent["prompt"]) if agent else None,
        workflow=cast("Mapping[str, Json] | None", workflow),
        budget=_budget(value.get("budget", {})),
        merge=MergeStrategy.SERIAL if merge == "serial" else MergeStrategy.PARALLEL,
        merge_bound=1 if merge == "serial" else merge["parallel"],
        retry={name: rule_of(rule) for name, rule in value.get("retry", {}).items()},
        second_person=value.get("second_person", False),
        style=_style(value.get("request", {})),
        checkout=_extent(value.get("checkout", {})),
    )
    return WorkOrderFile(value.get("repository", "."), value.get("base"), specification)


def _style(value: Mapping[str, Any]) -> Style:
    return Style(
        value.get("draft", False), tuple(value.get("labels", [])),
        tuple(value.get("reviewers", [])), Supersede(value.get("supersede", Supersede.KEEP)),
    )  # fmt: skip


def _extent(value: Mapping[str, Any]) -> Extent:
    return Extent(
        check_folders(value.get("sparse", [])), value.get("depth"),
        value.get("submodules", False), value.get("lfs", False),
    )  # fmt: skip


def _budget(value: Mapping[str, Any]) -> Budget:
    cost = value.get("cost")
    return Budget(
        attempts=value.get("attempts"),
        wall_time=duration(value["wall_time"]) if "wall_time" in value else None,
        cost=None if cost is None else max(1, int(Decimal(cost) * 1_000_000)),
        tokens=value.get("tokens"),
        repeated_failures=value.get("repeated_failures"),
    )
