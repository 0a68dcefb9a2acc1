"""Checks of `fencepost doctor`: the coding agents that workers of this machine could run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from app import agents
from app.agents import Agent
from app.cli.doctor_check import Check, ok, warning
from app.config import Settings


def installed(settings: Settings) -> Iterator[Check]:
    """Each agent that is here or has a key; what one of them lacks is a warning."""
    found = agents.read()
    checks = [
        *_checks("codex", found.codex, "FENCEPOST_CODEX", "FENCEPOST_OPENAI_API_KEY"),
        *_checks("claude-code", found.claude, "FENCEPOST_CLAUDE", "FENCEPOST_ANTHROPIC_API_KEY"),
    ]
    yield from checks or [ok("agents", "none is set up: commands alone are run")]


def _checks(name: str, agent: Agent, setting: str, key: str) -> Iterator[Check]:
    path = shutil.which(agent.program)
    if path is None and (agent.key is not None or "/" in agent.program):
        yield warning("agents", "agent_missing", f"{name}: no program {agent.program}",
                      f"install it on the worker's PATH, or set {setting}")  # fmt: skip
    elif path is not None and agent.key is None:
        yield warning("agents", "agent_key_missing", f"{name}: {path}, without a key",
                      f"set {key} or {key}_FILE for the workers")  # fmt: skip
    elif path is not None:
        sandbox = "" if agent.is_sandboxed else ", its own sandbox off"
        yield ok("agents", f"{name}: {path}, with a key{sandbox}")
