"""The executor `claude-code/v1`: Anthropic's Claude Code as it is shipped."""

from __future__ import annotations

import os

from app.agents import Agent
from app.domain.executor import CLAUDE_CODE
from workers.executors import program
from workers.executors.base import Assignment, Capabilities
from workers.executors.claude_stream import ClaudeStream
from workers.executors.process import ProcessSession
from workers.executors.program import Tested
from workers.workspace.process import Command

_OPTIONS = (
    "--print", "--output-format", "--verbose", "--allowed-tools", "--setting-sources",
    "--strict-mcp-config", "--no-session-persistence",
)  # fmt: skip
_TESTED = Tested(
    least=(2, 1, 332), below=(2, 2, 0), help=("--help",), options=_OPTIONS
)  # fmt: skip
_TOOLS = "Bash,Edit,Glob,Grep,NotebookEdit,Read,Task,TodoWrite,Write"  #: any other is denied
_URL = "https://api.anthropic.com"
#: The key comes by a pipe that is read up and gone before anything else runs: whatever the agent
#: starts has neither its variable nor a descriptor to find it by.
_BY_PIPE = 'exec 3<<END\n$FENCEPOST_MODEL_KEY\nEND\nunset FENCEPOST_MODEL_KEY; exec "$0" "$@"'
#: Nothing but the model is asked for anything on the network.
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
}


class ClaudeCodeExecutor:
    """Runs `claude --print` with a home of its own inside the claim's scratch folder."""

    name = CLAUDE_CODE
    capabilities = Capabilities(cancel=True, resume=False, isolation=True)

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def prepare(self, assignment: Assignment) -> ProcessSession:
        """Find the program; its settings are its arguments, and none of the repository's own."""
        found = program.find(self._agent.program, "FENCEPOST_CLAUDE", _TESTED)
        prompt = program.asked(assignment.prompt)
        key = program.key_of(self._agent.key, "FENCEPOST_ANTHROPIC_API_KEY")
        home = assignment.scratch / "home" / ".claude"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = {
            **_QUIET, "CLAUDE_CONFIG_DIR": str(home), "FENCEPOST_MODEL_KEY": key,
            "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR": "3",
        }  # fmt: skip
        if self._agent.url is not None:
            private["ANTHROPIC_BASE_URL"] = self._agent.url
        model = () if self._agent.model is None else ("--model", self._agent.model)
        argv = (
            "/bin/sh", "-c", _BY_PIPE, os.path.realpath(found.path),
            "--print", "--output-format", "stream-json", "--verbose", "--allowed-tools", _TOOLS,
            "--setting-sources", "user", "--strict-mcp-config",
            "--no-session-persistence", *model, "--", prompt,
        )  # fmt: skip
        command = Command(
            argv, assignment.tree, {**assignment.environment, **private},
            assignment.deadline, assignment.stall, box=assignment.box_to(self._agent.url or _URL),
        )  # fmt: skip
        shown = ("claude", "--print", prompt)
        reader = ClaudeStream(assignment.tree)
        return ProcessSession(shown, command, assignment.marker, reader, found.notes)
