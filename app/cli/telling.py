"""The words for what happened to an activity; one place for every reader."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime

from app.cli import agent_told
from app.cli.shown import plain
from app.store.views.journal import Written
from app.store.views.story import Entry

#: What → its sentence; a name in braces is a fact of the row.
SENTENCES: dict[str, str] = {
    "activity.admitted": "admitted, as receipt {tick} dispatched it",
    "delivery.made": "delivery {number} made: {cause}",
    "delivery.sent": "delivery {number} sent to Redis",
    "delivery.replaced": "delivery {number} withdrawn; its message will be refused",
    "claim.taken": "fence {fence} taken by {worker}",
    "claim.ended": "fence {fence} ended: {end_cause}",
    "operation.bound": "bound to operation {operation_id}",
    "start.recorded": "fence {fence} may start one process: {sha}",
    "call.sent": "call {fence}.{n} to the forge: {call}; "
    "no other is sent before its answer is known",
    "call.answered": "fence {fence} proves call {call_fence}.{n} to be {outcome}: {evidence}",
    "artifact.kept": "kept {name} ({media_type})",
    "result.recorded": "fence {fence} recorded the result: {outcome} {digest}",
    "unknown.opened": "held for a person: {code}: {detail}",
    "unknown.decided": "decided by {decided_by}: {what}, because: {reason}",
    "result.staged": "its facts staged as one batch",
    "activity.settled": "settled by receipt {tick}",
    "letter.kept": "dead letter {dead_letter_id} kept: {cause}, {detail}",
    "letter.replayed": "dead letter {dead_letter_id} replayed by {actor} as {came}, "
    "because: {reason}",
    "claim.refused": "delivery {delivery} refused: {verdict}",
}

#: What a start stands on, after its mark.
_MODES = {
    "operation_ref": "",
    "operation_branch": ", on a branch, as custom refs are refused",
    "database": "no mark, as the remote takes none; what it finds is kept here before its one push",
}

_LONGEST_LINE = 2000  #: signs of a line of output

#: Ids and digests are shown by their beginning.
_CUT = ("operation_id", "sha", "digest")

#: How a claim lost its authority.
_CAUSES = {
    "expired": "its lease ran out, so nothing it writes is taken any more",
    "released": "handed back",
    "held": "held for a person",
    "recorded": "with its result",
}


def sentence(entry: Entry) -> str:
    """What happened, in words."""
    facts = {name: _shown(name, value) for name, value in entry.facts.items()}
    if entry.what == "claim.ended":
        cause, detail = _CAUSES.get(facts["end_cause"], facts["end_cause"]), facts["end_detail"]
        facts["end_cause"] = f"{cause}: {detail}" if detail else cause
    if entry.what == "start.recorded":
        facts["sha"] += _MODES[facts["mode"]]
    if entry.what == "letter.replayed":
        attempt, delivery = facts["attempt_id"], facts["delivery"]
        facts["came"] = f"attempt {attempt}" if attempt else f"delivery {delivery}"
    if entry.what == "unknown.decided":
        number = facts["adopts"]
        facts["what"] = f"{facts['decision']}{f' request #{number}' if number else ''}"
    return plain(SENTENCES[entry.what].format_map(facts), 400)


def journal_sentence(event: Written) -> str | None:
    """What a run wrote down, in words; None for its output, which is shown as it is."""
    value = event.value
    if event.activity is None:
        return plain(_of_control(event), 160)
    if agent_told.is_of_agent(event):
        told = agent_told.told(event)
        return told and plain(told, 160)
    match event.type, value.get("step"):
        case "output", _:
            return None
        case "command", _:
            words = value.get("command")
            shown = shlex.join(map(str, words)) if isinstance(words, list) else str(words)
            return plain(f"runs: {shown}", 160)
        case "start", _:
            return f"process {value.get('pid')} started"
        case "step", "agent" | "check" | "decide" | "head":
            return plain(_of_step(value), 160)
        case "completion", _:
            return f"ends as {value.get('outcome')}"
        case "artifact", _ if "refused" not in value:
            return plain(f"kept {value.get('name')}, {value.get('size')} bytes", 160)
        case _:
            facts = " ".join(f"{name}={one}" for name, one in value.items())
            return plain(f"{event.type} {facts}", 160)


def _of_step(value: Mapping[str, object]) -> str:
    """What a worker tells of its way."""
    match value["step"]:
        case "agent":
            return f"command ended: {_ending(value)}"
        case "check":
            return f"check {value.get('command')}: {_ending(value)}"
        case "head":
            did = f"made at {value['sha']}" if value.get("sha") else "removed"
            return f"branch {value.get('branch')} {did}"
        case _:
            return f"recovery permits: {value.get('permission')}"


def _of_control(event: Written) -> str:
    """What the control plane tells of an attempt."""
    value = event.value
    because = f" because: {value['reason']}" if value.get("reason") else ""
    match event.type, value.get("state"):
        case "start" | "retry", _:
            return f"attempt {value.get('number')} dispatched by {value.get('actor')}{because}"
        case "human", "open":
            return "waits for a person"
        case "human", state:
            return f"{state} by {value.get('actor')}{because}"
        case "step", "waits":
            return f"waits for a place: {value.get('for')}"
        case "step", state:
            outcome = f" ({value['outcome']})" if value.get("outcome") else ""
            return f"{state}{outcome}"
        case "pause" | "resume" | "cancellation" as what, _ if "actor" in value:
            return f"{what} asked for by {value['actor']}{because}"
        case _:
            return f"ended as {value.get('outcome')}"


def output_lines(event: Written) -> list[str]:
    """The output in an event, line by line, unable to steer the terminal or to fill it."""
    return [_on_a_terminal(line) for line in str(event.value.get("text", "")).splitlines()]


def _on_a_terminal(line: str) -> str:
    more = len(line) - _LONGEST_LINE
    told = plain(line[:_LONGEST_LINE])
    return (
        f"{told}… and {more:,} more; `fencepost logs ATTEMPT --json` has them" if more > 0 else told
    )


def _ending(value: Mapping[str, object]) -> str:
    how = f"signal {value['signal']}" if value.get("signal") else f"exit {value.get('exit')}"
    cause = str(value.get("cause")).replace("_", " ")
    took = value.get("milliseconds", value.get("duration_ms"))
    after = f" after {int(took) / 1000:.1f} s" if isinstance(took, int) else ""
    return (how if cause == "exited" else cause) + after


def _shown(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    return str(value)[:12] if name in _CUT else str(value)
