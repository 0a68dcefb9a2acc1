"""The executor `codex/v1`: OpenAI's Codex CLI as it is shipped, in its own sandbox."""

from __future__ import annotations

import json
import os
from pathlib import Path

from app.agents import Agent
from app.domain.executor import CODEX
from workers.executors import codex_sandbox, program
from workers.executors.base import Assignment, Capabilities
from workers.executors.codex_stream import CodexStream
from workers.executors.process import ProcessSession
from workers.executors.program import Tested
from workers.workspace.process import Command

_TESTED = Tested(
    least=(0, 171, 0), below=(0, 172, 0), help=("exec", "--help"),
    options=("--json", "--skip-git-repo-check", "--ephemeral", "--ignore-rules"),
)  # fmt: skip
_KEY = "OPENAI_API_KEY"  #: in the agent's environment; what it runs does not get it
_URL = "https://api.openai.com/v1"


class CodexExecutor:
    """Runs `codex exec` with a home of its own inside the claim's scratch folder."""

    name = CODEX
    capabilities = Capabilities(cancel=True, resume=False, isolation=True)

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def prepare(self, assignment: Assignment) -> ProcessSession:
        """Find the program, and write its settings where only this run reads them."""
        found = program.find(self._agent.program, "FENCEPOST_CODEX", _TESTED)
        if self._agent.is_sandboxed:
            codex_sandbox.prove(found.path, assignment.scratch, assignment.box)
        prompt = program.asked(assignment.prompt)
        key = program.key_of(self._agent.key, "FENCEPOST_OPENAI_API_KEY")
        home = assignment.scratch / "home" / ".codex"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / "config.toml").write_text(_settings(self._agent, assignment.tree))
        argv = (
            os.path.realpath(found.path), "exec", "--json", "--ephemeral", "--ignore-rules",
            "--skip-git-repo-check", "-C", str(assignment.tree), "--", prompt,
        )  # fmt: skip
        private = {"CODEX_HOME": str(home), _KEY: key}
        command = Command(
            argv, assignment.tree, {**assignment.environment, **private},
            assignment.deadline, assignment.stall, box=assignment.box_to(self._agent.url or _URL),
        )  # fmt: skip
        shown = ("codex", "exec", prompt)
        reader = CodexStream(assignment.tree)
        return ProcessSession(shown, command, assignment.marker, reader, found.notes)


def _settings(agent: Agent, tree: Path) -> str:
    """Codex's own configuration: one provider, no questions, and none of the repository's own.

    What the model runs may write in the working directory and the run's temporary folder, reaches
    no network, and is given none of the agent's own variables.
    """
    model = "" if agent.model is None else f"model = {json.dumps(agent.model)}\n"
    mode = "workspace-write" if agent.is_sandboxed else "danger-full-access"
    allowed = "\n".join(f"{name} = {value}" for name, value in codex_sandbox.SETTINGS.items())
    return f"""{model}model_provider = "fencepost"
approval_policy = "never"
sandbox_mode = "{mode}"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
[sandbox_workspace_write]
{allowed}
[model_providers.fencepost]
name = "fencepost"
base_url = {json.dumps(agent.url or _URL)}
wire_api = "responses"
env_key = "{_KEY}"
request_max_retries = 2
stream_max_retries = 2
[projects.{json.dumps(str(tree))}]
trust_level = "untrusted"
[shell_environment_policy]
exclude = ["*KEY*", "*TOKEN*", "*SECRET*"]
"""
