"""Lines of a role's log, told to whoever sits in front of `fencepost up`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.cli.shown import plain
from app.events import Moment

_LINE = re.compile(
    r"\d{4}-\d\d-\d\dT(?P<time>\d\d:\d\d:\d\d)\S* (?P<level>[A-Z]+) (?P<role>\S+) (?P<moment>\S+)"
    r"(?P<facts>(?: \w+=.*)?)"
)
_FACT = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S*)")

#: Moment → its words; what is not here changes nothing that people wait for, and stays in the log.
WORDS: Mapping[Moment, str] = {
    Moment.DISPATCHED: "attempt {attempt} begins",
    Moment.CLAIMED: "takes {step} {activity}",
    Moment.STARTED: "starts {step} {activity}",
    Moment.RECORDED: "{step} {activity} ended: {outcome}",
    Moment.OPENED: "opened pull request #{number} for {activity}",
    Moment.RELEASED: "hands {step} {activity} back: {why}",
    Moment.HELD: "{step} {activity} is held for a person ({code}): fencepost unknown list",
    Moment.LOST: "lost its claim of {step} {activity} ({code})",
    Moment.CLAIM_EXPIRED: "the lease of {step} {activity} ran out",
    Moment.REPLACED: "sends {step} {activity} again: {cause}",
    Moment.BURIED: "kept a dead letter ({cause}): fencepost dead-letters list",
    Moment.BROKER_WIPED: "Redis was emptied; {replaced} messages are sent again",
    Moment.QUEUE_PAUSED: "{queue} is paused",
    Moment.QUEUE_RESUMED: "{queue} is resumed",
    Moment.NO_ROOM: "begins nothing: too little disk is free in {folder}",
    Moment.ROOM_AGAIN: "has room again in {folder}",
    Moment.CACHE_SWEPT: "removed the cache {name}, which nobody used",
    Moment.DRAINING: "begins nothing new; what runs may end",
    Moment.STALLED: "reads nothing although {queue} has messages; it is started again",
    Moment.ROLE_STARTED: "is ready",
    Moment.METRICS_SERVED: "answers Prometheus at {address}",
    Moment.TROUBLE: "{what} ({code})",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A line of a log, taken apart."""

    time: str
    level: str
    role: str
    moment: str
    facts: Mapping[str, str]


class _Facts(dict[str, str]):
    """Facts by name; one that a line does not have is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def told(line: str) -> Told | None:
    """The parts of a line that `app/logs.py` wrote; None for anybody else's."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    facts = {name: _value(value) for name, value in _FACT.findall(found["facts"])}
    return Told(found["time"], found["level"], found["role"], found["moment"], facts)


def words(line: str) -> str | None:
    """A short line for people; None where there is nothing to tell."""
    seen = told(line)
    if seen is None:
        return plain(line, 200)  # a library's, or the end of a traceback
    form = WORDS.get(Moment(seen.moment)) if seen.moment in set(Moment) else None
    if form is None:
        return None
    facts = _Facts(seen.facts, step=seen.facts.get("kind", "").rpartition(".")[2],
                   activity=seen.facts.get("activity", "")[:12])  # fmt: skip
    said = " ".join(form.format_map(facts).replace(" ()", "").split())
    return plain(f"{seen.time}  {said}", 200)


def in_full(role: str, line: str) -> dict[str, object]:
    """The same as one object, for programs."""
    seen = told(line)
    if seen is None:
        return {"role": role, "line": line}
    return {"role": role, "time": seen.time, "level": seen.level, "moment": seen.moment,
            "facts": dict(seen.facts)}  # fmt: skip


def _value(written: str) -> str:
    if written[:1] not in ("'", '"'):
        return written
    try:
        return str(ast.literal_eval(written))
    except (ValueError, SyntaxError):
        return written
