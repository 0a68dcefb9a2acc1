"""A work order, told to people."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

from app.cli.shown import painted, plain
from app.domain.board import WorkOrderState
from app.domain.digest import Json
from app.store.views.work_order import WorkOrderSeen

#: What is useful next.
_NEXT = {
    WorkOrderState.DRAFT: "work-orders submit {id}",
    WorkOrderState.SUBMITTED: "work-orders approve {id}",
    WorkOrderState.APPROVED: "work-orders dispatch {id}",
    WorkOrderState.REJECTED: "work-orders revise {id} FILE",
    WorkOrderState.ACTIVE: "tasks show {task}",
    WorkOrderState.COMPLETED: "explain {id}",
    WorkOrderState.CANCELED: "work-orders create FILE",
}


def then(seen: WorkOrderSeen) -> str:
    """The next useful command."""
    return _NEXT[WorkOrderState(seen.state)].format(id=seen.id, task=seen.tasks[0].id)


def tell(seen: WorkOrderSeen) -> None:
    """Print what a work order says, how far it has come, and everything that was said of it."""
    print(painted(f"work order {seen.id}: {plain(seen.title)}", "bold"))
    approved = f", approved by {seen.approved_by}" if seen.approved_by else ""
    second = "; another person has to approve it" if seen.second_person else ""
    print(f"  {seen.state}{approved}; written by {seen.author}{second}")
    print(f"  digest {seen.digest}")
    print(f"  {seen.repository_name} ({plain(seen.url)})")
    for name, said in _lines(seen.specification):
        print(f"  {name:<14} {plain(said, 200)}")
    for task in seen.tasks:
        print(f"  task {task.id} ({task.column}), attempts: {task.attempts}")
    print()
    for deed in seen.history:
        verb = deed.verb.partition("_")[0]
        why = f", because: {plain(deed.reason)}" if deed.reason else ""
        what = f"{deed.actor}: {verb} {deed.digest[:12]}{why}"
        print(f"  {deed.at:%FT%TZ}  receipt {deed.tick}  {what}")


def _step_lines(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A step, with everything in it that will run."""
    needs = f" after {', '.join(step['needs'])}" if step.get("needs") else ""
    when = f" when {step['when']}" if step.get("when") else ""
    yield "step", f"{step['name']} ({step['kind']}){needs}{when}"
    if step.get("command"):
        yield "", f"runs {shlex.join(step['command'])}"
    for check in step.get("checks") or []:
        yield "", f"checks {check}"
    for name, rule in (step.get("retry") or {}).items():
        yield "", f"retries {name} {rule['attempts']} times"


def _style_lines(style: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, asked in style.items():
        if asked not in (False, [], "keep"):
            yield "request", f"{name} {', '.join(asked) if isinstance(asked, list) else asked}"


def _checkout_lines(extent: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for folder in extent.get("sparse", []):
        yield "checkout", f"folder {folder}"
    if extent.get("depth"):
        yield "checkout", f"{extent['depth']} commits of history"
    for name in ("submodules", "lfs"):
        if extent.get(name):
            yield "checkout", f"{name} too"


def _lines(said: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """What the specification says, without what it leaves at its default."""
    yield "base", str(said["base"])
    for name in ("paths", "checks"):
        for one in cast("list[str]", said[name]):
            yield name, one
    if command := cast("list[str]", said["command"]):
        yield "command", shlex.join(command)
    if agent := cast("Mapping[str, str] | None", said["agent"]):
        yield "agent", f"{agent['name']}: {agent['prompt']}"
    yield "timeout", f"{said['timeout_s']} s, each check {said['check_timeout_s']} s"
    workflow = cast("Mapping[str, Any] | None", said["workflow"])
    if workflow:
        yield "concurrency", f"{workflow.get('concurrency', 1)} steps at a time"
    for step in workflow["steps"] if workflow else []:
        yield from _step_lines(step)
    for name, bound in cast("Mapping[str, int | None]", said["budget"]).items():
        if bound is not None:
            yield "budget", f"{name} {bound}"
    merge = cast("Mapping[str, Json]", said["merge"])
    yield "merge", f"{merge['strategy']}, {merge['bound']} at a time"
    yield from _style_lines(cast("Mapping[str, Any]", said.get("style", {})))
    yield from _checkout_lines(cast("Mapping[str, Any]", said.get("checkout", {})))
    for name, rule in cast("Mapping[str, Mapping[str, Json]]", said["retry"]).items():
        yield "retry", f"{name}: {rule['attempts']} times"
