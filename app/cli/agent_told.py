"""The words for what a coding agent tells of its way."""

from __future__ import annotations

from collections.abc import Mapping

from app.store.views.journal import Written

_COUNTS = {"input_tokens": "tokens in", "output_tokens": "out"}
_STEPS = ("thread", "turn", "usage", "reasoning", "warning", "agent_event")


def is_of_agent(event: Written) -> bool:
    """Whether an agent reported this; a plain command reports nothing but output."""
    if event.type == "command":
        return "state" in event.value
    return event.type in ("file", "tool") or event.value.get("step") in _STEPS


def told(event: Written) -> str | None:
    """What an agent reported; what it does not report is not said, nor that a command went well."""
    value = event.value
    match event.type, value.get("state"):
        case "command", "started":
            return f"runs: {value.get('command')}"
        case "command", _:
            return None if value.get("exit") == 0 else f"ended badly: {value.get('command')}"
        case "file", _:
            return f"{value.get('change')} {value.get('path')}"
        case "tool", state:
            return f"{value.get('tool')} {state}"
        case _:
            return _step(value)


def _step(value: Mapping[str, object]) -> str:
    match value["step"]:
        case "thread":
            return f"conversation {value.get('id')}"
        case "turn":
            why = f": {value['text']}" if value.get("text") else ""
            return f"turn {value.get('state')}{why}"
        case "usage":
            return f"used {_usage(value)}"
        case "agent_event":
            return f"says {value.get('type')}, which is not known here"
        case step:
            return f"{step}: {' '.join(str(value.get('text')).split())}"


def _usage(value: Mapping[str, object]) -> str:
    told = [f"{value[name]:,} {unit}" for name, unit in _COUNTS.items()
            if isinstance(value.get(name), int)]  # fmt: skip
    if isinstance(cost := value.get("cost_microdollars"), int):
        told.append(f"{cost / 1_000_000:.4f} US dollars")
    return ", ".join(told) or "what it does not say"
