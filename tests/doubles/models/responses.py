"""OpenAI's Responses API, as Codex speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from doubles.models.script import Answer, Call, Fail, Junk, Reason, Run, Say, Write

_ANSWERS = ("function_call_output", "custom_tool_call_output")
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}


class Responses:
    """Its words."""

    path = "/v1/responses"

    def turn(self, request: dict[str, Any]) -> int:
        """How many answers of tools a conversation holds."""
        return len(self.told(request))

    def told(self, request: dict[str, Any]) -> list[str]:
        """What the tools answered so far, oldest first."""
        items = request.get("input", [])
        return [str(one.get("output")) for one in items if one.get("type") in _ANSWERS]

    def fault(self, fail: Fail) -> dict[str, Any]:
        """The body beside a status."""
        return {"error": {"message": fail.message, "type": "scripted", "code": None}}

    def events(self, answer: Answer, turn: int, model: str) -> Iterator[dict[str, Any]]:
        """An answer as it is streamed; each event names its type."""
        response = {"id": f"resp_{turn}", "model": model}
        yield {"type": "response.created", "response": response}
        if isinstance(answer, Junk):
            yield {"type": "response.unheard_of", "surprise": [1, {"two": None}]}
        for item in _items(answer, turn):
            yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": response | {"usage": USAGE}}


def _items(answer: Answer, turn: int) -> Iterator[dict[str, Any]]:
    call = f"call_{turn}"
    match answer:
        case Run(command):
            words = json.dumps({"cmd": command, "yield_time_ms": 30_000})
            yield _function("exec_command", words, call)
        case Write(path, content):
            body = "".join(f"+{line}\n" for line in content.splitlines())
            patch = f"*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch\n"
            words = json.dumps({"cmd": f"apply_patch <<'EOF'\n{patch}EOF", "yield_time_ms": 30_000})
            yield _function("exec_command", words, call)
        case Call(tool, arguments):
            yield _function(tool, json.dumps(dict(arguments)), call)
        case Reason(text):
            summary = [{"type": "summary_text", "text": text}]
            yield {"type": "reasoning", "id": "rs_1", "summary": summary, "content": None,
                   "encrypted_content": None}  # fmt: skip
            yield _message("Done.")
        case Say(text):
            yield _message(text)
        case _:
            yield _message("Done.")


def _function(name: str, arguments: str, call: str) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": arguments, "call_id": call}


def _message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content}
