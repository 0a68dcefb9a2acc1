"""What a worker is told about coding agents: where they are, and how each reaches its model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.config import Secret, SettingUnfit, late

_LOCAL = ("127.0.0.1", "localhost", "::1")

#: Each name may be given as NAME_FILE instead where it holds a key.
NAMES = (
    "FENCEPOST_CODEX", "FENCEPOST_CODEX_MODEL", "FENCEPOST_CODEX_SANDBOX",
    "FENCEPOST_OPENAI_BASE_URL", "FENCEPOST_OPENAI_API_KEY", "FENCEPOST_OPENAI_API_KEY_FILE",
    "FENCEPOST_CLAUDE", "FENCEPOST_CLAUDE_MODEL",
    "FENCEPOST_ANTHROPIC_BASE_URL",
    "FENCEPOST_ANTHROPIC_API_KEY", "FENCEPOST_ANTHROPIC_API_KEY_FILE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Agent:
    """One vendor's agent."""

    program: str  #: a path, or a name that is looked for on PATH
    model: str | None  #: None: the agent's own choice
    url: str | None  #: of the model's API; None: the vendor's own
    key: Secret | None  #: is handed to the agent's process and to nothing else
    is_sandboxed: bool = True  #: by itself, where it can


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents that Fencepost knows by itself."""

    codex: Agent
    claude: Agent


def read(environment: Mapping[str, str] = os.environ) -> Agents:
    """Read the environment, or refuse it as SettingUnfit; nothing is looked for yet."""
    return Agents(
        codex=_agent(environment, "CODEX", "OPENAI", "codex"),
        claude=_agent(environment, "CLAUDE", "ANTHROPIC", "claude"),
    )


def _agent(environment: Mapping[str, str], agent: str, vendor: str, program: str) -> Agent:
    return Agent(
        program=environment.get(f"FENCEPOST_{agent}") or program,
        model=environment.get(f"FENCEPOST_{agent}_MODEL") or None,
        url=_address(environment, f"FENCEPOST_{vendor}_BASE_URL"),
        key=late(environment, f"FENCEPOST_{vendor}_API_KEY"),
        is_sandboxed=_is_on(environment, f"FENCEPOST_{agent}_SANDBOX"),
    )


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    given = environment.get(name) or "on"
    if given not in ("on", "off"):
        raise SettingUnfit(f"{name} is neither on nor off: {given}", hint="write on, or off")
    return given == "on"


def _address(environment: Mapping[str, str], name: str) -> str | None:
    """The address of a model; a key never travels in the clear, but on this machine."""
    given = environment.get(name)
    if not given:
        return None
    parts = urlsplit(given)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)
    if not is_safe or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingUnfit(f"{name} is no address of an API", hint="write https://HOST/PATH")
    return given.rstrip("/")
