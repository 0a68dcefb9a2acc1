"""The executors that work orders can ask for, and the agents that people name.

A test holds this list against the workers' own registry. Other people's agents are entry points of
the group `fencepost.executors`: one called `acme` is the agent `acme`, carried out by `acme/v1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

COMMAND = "command/v1"  #: any program; its exit code decides
CODEX = "codex/v1"
CLAUDE_CODE = "claude-code/v1"

GROUP = "fencepost.executors"

#: Agent, as a work order names it → executor.
AGENTS: Mapping[str, str] = {"codex": CODEX, "claude-code": CLAUDE_CODE}

EXECUTORS = (COMMAND, *AGENTS.values())


def agents() -> dict[str, str]:
    """Every agent that can be asked for here, others' too, which are not loaded for it."""
    others = {one.name: f"{one.name}/v1" for one in entry_points(group=GROUP)}
    return others | dict(AGENTS)
