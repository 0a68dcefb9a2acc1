"""Anthropic's Messages API, as Claude Code speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from doubles.models.script import Answer, Call, Fail, Junk, Reason, Run, Say, Write

USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 10}
_FAULTS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


class Messages:
    """Its words."""

    path = "/v1/messages"

    def turn(self, request: dict[str, Any]) -> int:
        """How many answers of tools a conversation holds."""
        return len(self.told(request))

    def told(self, request: dict[str, Any]) -> list[str]:
        """What the tools answered so far, oldest first."""
        found = []
        for message in request.get("messages", []):
            blocks = message["content"] if isinstance(message["content"], list) else []
            found += [
                str(block.get("content")) for block in blocks if block["type"] == "tool_result"
            ]
        return found

    def fault(self, fail: Fail) -> dict[str, Any]:
        """The body beside a status."""
        name = _FAULTS.get(fail.status, "api_error")
        return {"type": "error", "error": {"type": name, "message": fail.message}}

    def events(self, answer: Answer, turn: int, model: str) -> Iterator[dict[str, Any]]:
        """An answer as it is streamed; each event names its type."""
        message = {
            "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": model,
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": USAGE | {"output_tokens": 1},
        }  # fmt: skip
        yield {"type": "message_start", "message": message}
        if isinstance(answer, Junk):
            yield {"type": "unheard_of", "surprise": [1, {"two": None}]}
        stop = "tool_use" if isinstance(answer, (Run, Write, Call)) else "end_turn"
        yield from _block(answer, turn)
        usage = {"output_tokens": 20}
        yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
               "usage": usage}  # fmt: skip
        yield {"type": "message_stop"}


def _block(answer: Answer, turn: int) -> Iterator[dict[str, Any]]:
    match answer:
        case Run(command):
            yield from _tool("Bash", {"command": command, "description": "as scripted"}, turn)
        case Write(path, content):
            yield from _tool("Write", {"file_path": path, "content": content}, turn)
        case Call(tool, arguments):
            yield from _tool(tool, dict(arguments), turn)
        case Say(text) | Reason(text):
            yield from _text(text)
        case _:
            yield from _text("Done.")


def _text(words: str) -> Iterator[dict[str, Any]]:
    yield from _streamed({"type": "text", "text": ""}, {"type": "text_delta", "text": words})


def _tool(name: str, arguments: dict[str, Any], turn: int) -> Iterator[dict[str, Any]]:
    block = {"type": "tool_use", "id": f"toolu_{turn}", "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    yield from _streamed(block, delta)


def _streamed(block: dict[str, Any], delta: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
