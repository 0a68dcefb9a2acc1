"""The workflow of a work order file: brought into its normal form, compiled, its faults placed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.domain.digest import text
from app.domain.duration import duration
from app.domain.errors import BadInput
from app.domain.work_order import RetryRule
from app.intake.document import Document
from app.intake.fault import Fault
from app.workflow.graph import StepKind, WorkflowFault, compile_workflow


def definition(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The workflow that a file asks for; an author's gaps are filled from the work order."""
    written = value.get("workflow")
    if written is None:
        return None
    steps = [_step(step, value) for step in written["steps"]]
    return {"v": 1, "concurrency": written.get("concurrency", 1), "steps": steps}


def workflow_faults(document: Document, value: Mapping[str, Any]) -> Iterator[Fault]:
    """The fault that the compiler finds, at the step that it names (O02)."""
    try:
        compile_workflow(definition(value) or {})
    except WorkflowFault as fault:
        names = [step["name"] for step in value["workflow"]["steps"]]
        # of a name that is used twice, the second is at fault
        last = len(names) - 1 - names[::-1].index(fault.node) if fault.node in names else None
        steps = ("workflow", "steps")
        place = document.place(steps if last is None else (*steps, last))
        yield Fault(place, fault.code, fault.message)
    except BadInput:
        return  # a duration, which has its own fault


def rule_of(value: Mapping[str, Any]) -> RetryRule:
    """A rule for the retries of one failure class, as it is written in a file."""
    backoff = duration(value["backoff"]) if "backoff" in value else None
    return RetryRule(value["attempts"], backoff)


def words(command: str | list[str]) -> list[str]:
    """A command as its words; a line is for the shell."""
    return ["sh", "-c", command] if isinstance(command, str) else list(command)


def _step(step: Mapping[str, Any], order: Mapping[str, Any]) -> dict[str, Any]:
    gaps = order if step["kind"] == StepKind.AUTHOR else {}
    command = step.get("command", gaps.get("command"))
    checks = step.get("checks", gaps.get("checks"))
    filled = dict(step)
    if command is not None:
        filled["command"] = words(command)
    elif step["kind"] == StepKind.AUTHOR and "agent" in order:
        filled["prompt"] = text(order["agent"]["prompt"])
    if checks is not None:
        filled["checks"] = list(checks)
    if "retry" in step:
        filled["retry"] = {name: rule_of(one).value() for name, one in step["retry"].items()}
    if "timeout" in step:
        filled["timeout_s"] = int(duration(filled.pop("timeout")).total_seconds())
    return filled
