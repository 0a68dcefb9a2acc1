"""Every executor of a worker, by the name that work orders use; others' are entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from app.agents import Agents
from app.domain.agent import AgentMissing, AgentUnfit
from app.domain.executor import CLAUDE_CODE, CODEX, COMMAND, GROUP
from workers.executors.base import Executor
from workers.executors.claude_code import ClaudeCodeExecutor
from workers.executors.codex import CodexExecutor
from workers.executors.command import CommandExecutor

EXECUTORS: Mapping[str, Callable[[Agents], Executor]] = {
    COMMAND: lambda agents: CommandExecutor(),
    CODEX: lambda agents: CodexExecutor(agents.codex),
    CLAUDE_CODE: lambda agents: ClaudeCodeExecutor(agents.claude),
}


def executor(name: str, agents: Agents, *, is_apart: bool = False) -> Executor:
    """The executor of this name; AgentMissing says what there is, AgentUnfit what is wrong.

    An entry point `acme` of the group is loaded for `acme/v1`, and called without arguments.
    Where runs are kept apart, one that does not know how is refused.
    """
    if name in EXECUTORS:
        return EXECUTORS[name](agents)
    others = {f"{one.name}/v1": one for one in entry_points(group=GROUP)}
    if name not in others:
        known = ", ".join(sorted([*EXECUTORS, *others]))
        raise AgentMissing(
            f"no executor {name} is installed here; there are {known}",
            hint=f"install the package that has an entry point for it in the group {GROUP}",
        )
    try:
        found: Executor = others[name].load()()
    except Exception as fault:
        raise AgentUnfit(f"{others[name].value}: {type(fault).__name__}: {fault}") from fault
    if found.name != name or found.capabilities.resume:
        raise AgentUnfit(f"{others[name].value} is no {name} that is begun anew each time (T10)")
    if is_apart and not found.capabilities.isolation:
        raise AgentUnfit(
            f"{others[name].value} does not say that it keeps its runs apart",
            hint="use one that does, or workers of their own with FENCEPOST_AGENT_ISOLATION=off",
        )
    return found
