"""Steps of attempts, and the gates among them, are as the receipts tell (O03, O05, O12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.domain.digest import canonical
from app.store import schema
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.legal import FINISHED
from app.verify.reading import Found, Stream, World, value_of
from app.verify.replay import Attempt, Board, Step, text

#: How a workflow names a kind of step → how its row does.
KINDS = {
    "author": "missions.author",
    "command": "missions.command",
    "gate": "gate",
    "pull_request": "forge.pull_request",
    "checks": "forge.checks",
}


def check(world: World, board: Board) -> Iterator[Finding]:
    """Hold each step against its attempt's own workflow, and against the replay."""
    by = ("attempt_id",)
    for (attempt,), found in world.together(
        Stream(schema.attempts, by, large=("workflow",)),
        Stream(schema.steps, by, large=("outputs",)),
        Stream(schema.gates, by),
        Stream(schema.activities, by),
    ):
        told = board.attempts.get(str(attempt), Attempt(""))
        for row in found["attempts"]:
            yield from _as_written(world, row, found["steps"], told)
        for row in found["steps"]:
            yield from _step(row, told)
        yield from _gates(world, str(attempt), found, told)
        yield from _stopped(found, told)


def _as_written(
    world: World, attempt: AnyRow, steps: list[AnyRow], told: Attempt
) -> Iterator[Finding]:
    """The steps are those of the workflow that the attempt keeps, and ran in its order."""
    written = (value_of(attempt.workflow) or {}).get("steps")
    listed = {
        text(one, "name"): one for one in (written if isinstance(written, list) else [])
        if isinstance(one, Mapping)
    }  # fmt: skip
    rows = {row.name: row for row in steps}
    for name in sorted(set(listed) - set(rows)):
        what = "its attempt's workflow has it"
        yield missing("O03", schema.steps, world.id, attempt.attempt_id, name, what=what)
    for name, row in rows.items():
        if name not in listed or KINDS.get(text(listed[name], "kind"), row.kind) != row.kind:
            yield against("O03", schema.steps, row, "it is not as its attempt's workflow has it")
            continue
        needs, step = listed[name].get("needs"), told.steps.get(name, Step("pending"))
        for need in map(str, needs) if isinstance(needs, list) and step.began else []:
            before = told.steps.get(need, Step("pending"))
            if not 0 < before.ended < step.began:
                yield against("O02", schema.steps, row, f"it began before {need} had ended")


def _step(row: AnyRow, told: Attempt) -> Iterator[Finding]:
    untold = Step("pending" if told.outcome is None else "skipped")
    step = told.steps.get(row.name, untold)
    if (row.state, row.outcome) != (step.state, step.outcome):
        what = f"it is {row.state} {row.outcome}, and the receipts say {step.state} {step.outcome}"
        yield against("L10", schema.steps, row, what)
    if row.activity_id != step.activity or step.kind not in (None, row.kind):
        yield against("L10", schema.steps, row, "its activity is not the one that was dispatched")
    waits = None if row.waits_for is None else (row.waits_for, row.waits_at)
    if waits != step.waits:
        yield against("O08", schema.steps, row, f"it waits for {waits}, not for {step.waits}")
    expected = None if step.outputs is None else canonical(step.outputs)
    if (None if row.outputs is None else bytes(row.outputs)) != expected:
        yield against("L10", schema.steps, row, "its outputs are not those of its receipt")
    if told.outcome is not None and row.state not in FINISHED:
        yield against("O05", schema.steps, row, "it is unfinished, and its attempt has ended")


def _gates(world: World, attempt: str, found: Found, told: Attempt) -> Iterator[Finding]:
    """A gate is there once it was opened, and is decided once its step is over."""
    opened = {name: step for name, step in told.steps.items() if step.gate is not None}
    gates = {row.step: row for row in found["gates"]}
    for name in sorted(set(opened) - set(gates)):
        what = f"receipt {opened[name].gate} opened it"
        yield missing("O12", schema.gates, world.id, attempt, name, what=what)
    for name, gate in gates.items():
        step = opened.get(name)
        if step is None or step.gate != gate.tick:
            yield against("L10", schema.gates, gate, "no receipt of its tick opened it")
        elif (gate.decision is not None) != (step.state in FINISHED):
            what = f"it is decided as {gate.decision}, and its step is {step.state}"
            yield against("O12", schema.gates, gate, what)
        elif gate.decision is not None:
            # nobody decided it: the attempt ended, and the dispatcher closed it
            told_of = step.decision or ("canceled", "dispatcher")
            if (gate.decision, gate.decided_by) != told_of:
                what = f"{gate.decision} by {gate.decided_by}, and the receipts say {told_of}"
                yield against("L10", schema.gates, gate, what)


def _stopped(found: Found, told: Attempt) -> Iterator[Finding]:
    """A cancel stops every activity of its attempt, and nothing else cancels one (Q08)."""
    for activity in found["activities"]:
        if activity.stop == "cancel" and not told.canceled:
            yield against("L10", schema.activities, activity, "no receipt asked for its cancel")
        if activity.stop is None and told.canceled:
            yield against("L10", schema.activities, activity, "its attempt's cancel missed it")
