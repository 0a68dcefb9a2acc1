"""Codex's JSON stream as our events, and its last word as our judgement (E11)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.domain.event import EventType
from workers.executors import model_trouble
from workers.executors.base import Happening, Noted, Outcome, Problem, Usage
from workers.executors.bounded import bounded, count, words
from workers.executors.complaints import Complaints
from workers.executors.lines import Line, Lines, parts
from workers.workspace.process import Ended

_STATUS = re.compile(r"(?:unexpected|last) status:? (\d{3})")
_CUT = ("stream disconnected", "high demand", "error sending request", "timed out", "timeout")
_FINISHED = ("completed", "failed", "declined")


class CodexStream:
    """Reads the lines of `codex exec --json`."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._lines = Lines()
        self._complaints = Complaints()
        self._is_complete = False  #: the last word was that the turn is completed
        self._warned = ""  #: the last warning
        self._failed: str | None = None  #: the last word was that it failed, and this is why
        self._usage: Usage | None = None

    def hear(self, chunk: bytes) -> Iterator[Happening]:
        """Take the next bytes of stdout."""
        for line in self._lines.take(chunk):
            for part in parts(line):
                yield from self._part(part)

    def overhear(self, chunk: bytes) -> Iterator[Happening]:
        """Take the next bytes of stderr."""
        return self._complaints.hear(chunk)

    def close(self) -> Iterator[Happening]:
        """Take the end of both."""
        for line in self._lines.end():
            for part in parts(line):
                yield from self._part(part)
        yield from self._complaints.close()

    def judge(self, ended: Ended) -> Outcome:
        """Done is: exit 0, and the turn's completion as the last word."""
        if self._failed is not None:
            return Outcome(_problem_of(self._failed), self._usage)
        if ended.exit != 0:
            how = f"signal {ended.signal}" if ended.signal else f"exit {ended.exit}"
            why = self._warned or self._complaints.last
            return Outcome(Problem("agent_failed", f"codex: {how}: {why}"), self._usage)
        if not self._is_complete:
            return Outcome(Problem("ending_missing", "codex: exit 0 without an ending"))
        return Outcome(None, self._usage)

    def _part(self, line: Line) -> Iterator[Happening]:
        if isinstance(line, bytes):
            yield self._complaints.note(line)
            return
        self._is_complete, self._failed = False, None
        match line["type"]:
            case "thread.started":
                yield _step("thread", id=words(line.get("thread_id"), 100))
            case "turn.started":
                yield _step("turn", state="started")
            case "turn.completed":
                self._is_complete, self._usage = True, _usage(line.get("usage"))
                yield _step("usage", **({} if self._usage is None else self._usage.value()))
            case "turn.failed":
                error = line.get("error")
                message = words(error.get("message") if isinstance(error, dict) else error)
                self._failed = message or "it does not say why"
                yield _step("turn", state="failed", text=self._failed)
            case "error":
                self._warned = words(line.get("message"))
                yield _step("warning", text=self._warned)
            case "item.started" | "item.completed" if isinstance(line.get("item"), dict):
                yield from self._item(line["item"], is_over=line["type"] == "item.completed")
            case _:
                yield _as_such(line)

    def _item(self, item: dict[str, Any], *, is_over: bool) -> Iterator[Happening]:
        kind = item.get("type")
        match kind:
            case "command_execution":
                yield _command(item, is_over=is_over)
            case "file_change":
                changes = item.get("changes") if is_over else None
                for change in changes if isinstance(changes, list) else []:
                    yield self._file(change)
            case "agent_message" if is_over:
                yield Noted(EventType.OUTPUT, {"text": f"{words(item.get('text'))}\n"})
            case "reasoning" | "error" if is_over:
                step = "reasoning" if kind == "reasoning" else "warning"
                yield _step(step, text=words(item.get("text") or item.get("message")))
            case "mcp_tool_call" | "web_search" | "collab_tool_call":
                state = "completed" if is_over else "started"
                yield Noted(EventType.TOOL, {"tool": kind, "state": state, "value": bounded(item)})
            case "agent_message" | "reasoning" | "error":
                return
            case _:
                yield _as_such(item)

    def _file(self, change: object) -> Noted:
        said = change if isinstance(change, dict) else {}
        path = words(said.get("path")).removeprefix(f"{self._tree}/")
        return Noted(EventType.FILE, {"path": path, "change": words(said.get("kind"), 40)})


def _command(item: dict[str, Any], *, is_over: bool) -> Noted:
    value = {"command": words(item.get("command"))}
    if not is_over:
        return Noted(EventType.COMMAND, {**value, "state": "started"})
    state = item.get("status") if item.get("status") in _FINISHED else "completed"
    exit_code = item.get("exit_code")
    return Noted(
        EventType.COMMAND,
        {
            **value, "state": words(state), "exit": exit_code if type(exit_code) is int else None,
            "output": words(item.get("aggregated_output")),
        },
    )  # fmt: skip


def _step(step: str, **value: Any) -> Noted:
    return Noted(EventType.STEP, {"step": step, **value})


def _as_such(value: dict[str, Any]) -> Noted:
    """A type that this version does not know."""
    kind = words(value.get("type"), 100)
    return _step("agent_event", type=kind, value=bounded(value))


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    return Usage(
        count(value.get("input_tokens")), count(value.get("cached_input_tokens")),
        count(value.get("output_tokens")),
    )  # fmt: skip


def _problem_of(message: str) -> Problem:
    """What made a turn fail; Codex says it in words alone."""
    if found := _STATUS.search(message):
        return model_trouble.of_status(int(found[1]), message)
    if message.startswith("Quota exceeded"):
        return Problem("model_quota_used_up", message)
    if any(sign in message for sign in _CUT):
        return Problem("model_unavailable", message)
    if message.lstrip().startswith("{"):  # the body of a 400, as it came
        return Problem("model_refused", message)
    return Problem("agent_failed", message)
