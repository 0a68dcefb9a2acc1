"""The executors and agents that the workers of this installation have.

A test holds this list against the workers' own registry.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMAND = "command/v1"  #: any program; its exit code decides

#: Agent, as a work order names it → executor.
AGENTS: Mapping[str, str] = {}

EXECUTORS = (COMMAND, *AGENTS.values())
