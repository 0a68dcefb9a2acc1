"""Claude Code's JSON stream as our events, and its last word as our judgement (E11)."""

from __future__ import annotations

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

_WRITES = ("Edit", "NotebookEdit", "Write")
_MOST_OPEN = 200  #: calls of tools whose answers are waited for


class ClaudeStream:
    """Reads the lines of `claude --print --output-format stream-json`."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._lines = Lines()
        self._complaints = Complaints()
        self._result: dict[str, Any] | None = None
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}  #: id → tool, what it was given

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
        """Done is: exit 0, and a result that is no error; it says `success` of failures too."""
        usage = _usage(self._result or {})
        if self._result is not None and self._result.get("is_error") is not False:
            return Outcome(_problem_of(self._result), usage)
        if ended.exit != 0:
            how = f"signal {ended.signal}" if ended.signal else f"exit {ended.exit}"
            why = self._complaints.last
            return Outcome(Problem("agent_failed", f"claude: {how}: {why}"), usage)
        if self._result is None:
            return Outcome(Problem("ending_missing", "claude: exit 0 without a result"))
        return Outcome(None, usage)

    def _part(self, line: Line) -> Iterator[Happening]:
        if isinstance(line, bytes):
            yield self._complaints.note(line)
            return
        match line["type"], line.get("subtype"):
            case "system", "init":
                yield _step("thread", id=words(line.get("session_id"), 100),
                            model=words(line.get("model"), 100))  # fmt: skip
            case "system", "api_retry" | "permission_denied" as what:
                text = words(line.get("message")) or words(line.get("error"))
                yield _step("warning", text=f"{what}: {text}")
            case "assistant", _:
                for block in _blocks(line):
                    yield from self._said_or_called(block)
            case "user", _:
                for block in _blocks(line):
                    yield from self._answered(block)
            case "result", _:
                self._result = line
                usage = _usage(line)
                yield _step("usage", **({} if usage is None else usage.value()))
            case kind, part:
                name = "/".join(filter(None, (words(kind, 50), words(part, 50))))
                yield _step("agent_event", type=name, value=bounded(line))

    def _said_or_called(self, block: dict[str, Any]) -> Iterator[Happening]:
        match block.get("type"):
            case "text":
                yield Noted(EventType.OUTPUT, {"text": f"{words(block.get('text'))}\n"})
            case "thinking":
                yield _step("reasoning", text=words(block.get("thinking")))
            case "tool_use":
                tool, given = words(block.get("name"), 100), block.get("input")
                said = given if isinstance(given, dict) else {}
                if len(self._calls) < _MOST_OPEN:
                    self._calls[words(block.get("id"), 100)] = (tool, said)
                if tool == "Bash":
                    value = {"command": words(said.get("command")), "state": "started"}
                    yield Noted(EventType.COMMAND, value)
                elif tool not in _WRITES:
                    yield Noted(EventType.TOOL, {"tool": tool, "state": "started",
                                                 "value": bounded(said)})  # fmt: skip
            case kind:
                yield _step("agent_event", type=words(kind, 100), value=bounded(block))

    def _answered(self, block: dict[str, Any]) -> Iterator[Happening]:
        if block.get("type") != "tool_result":
            return
        identity = words(block.get("tool_use_id"), 100)
        tool, given = self._calls.pop(identity, ("unknown", {}))
        state = "failed" if block.get("is_error") is True else "completed"
        output = words(_text_of(block.get("content")))
        if tool == "Bash":
            value = {"command": words(given.get("command")), "state": state, "output": output}
            yield Noted(EventType.COMMAND, {**value, "exit": 0 if state == "completed" else None})
        elif tool in _WRITES and state == "completed":
            path = words(given.get("file_path") or given.get("notebook_path"))
            path = path.removeprefix(f"{self._tree}/")
            yield Noted(EventType.FILE, {"path": path, "change": tool.lower()})
        else:
            yield Noted(EventType.TOOL, {"tool": tool, "state": state, "output": output})


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _text_of(content: object) -> object:
    if isinstance(content, list):
        parts = [one.get("text") for one in content if isinstance(one, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content


def _step(step: str, **value: Any) -> Noted:
    return Noted(EventType.STEP, {"step": step, **value})


def _usage(result: dict[str, Any]) -> Usage | None:
    """What a result reports; its input counts what was cached, as everywhere here."""
    said = result.get("usage")
    if not isinstance(said, dict):
        return None
    cached = count(said.get("cache_read_input_tokens"))
    parts = [
        count(said.get("input_tokens")),
        count(said.get("cache_creation_input_tokens")),
        cached,
    ]
    cost = result.get("total_cost_usd")
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9
    return Usage(
        None if None in parts else sum(part for part in parts if part is not None),
        cached,
        count(said.get("output_tokens")),
        round(cost * 1_000_000) if is_cost and isinstance(cost, int | float) else None,
    )


def _problem_of(result: dict[str, Any]) -> Problem:
    detail = words(result.get("result")) or words(str(result.get("subtype")))
    status = count(result.get("api_error_status"))
    if status is not None and status >= 400:
        return model_trouble.of_status(status, detail)
    if result.get("terminal_reason") == "api_error":
        return Problem("model_unavailable", detail)
    return Problem("agent_failed", f"{words(str(result.get('terminal_reason')))}: {detail}")
