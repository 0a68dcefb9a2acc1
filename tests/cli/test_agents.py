"""`fencepost run --agent`: a real agent, a scripted model, one pull request."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles.models import ModelServer, Run, Say, Write
from doubles.models.messages import Messages
from doubles.models.responses import Responses
from fixtures.agents import KEY, binary
from fixtures.command import Fencepost

from app.embedded.place import locate

SCRIPT = [Run("echo y = 2 >> src/a.py"), Write("docs/b.txt", "b\n"), Say("I added y.")]
TASK = "Add y to src/a.py."


@pytest.fixture
def codex(own: Fencepost) -> Iterator[ModelServer]:
    """A model for Codex."""
    with ModelServer(Responses(), SCRIPT) as server:
        yield server


def set_for(server: ModelServer) -> dict[str, str]:
    """What Codex is set to."""
    return {
        "FENCEPOST_CODEX": binary("codex"), "FENCEPOST_OPENAI_BASE_URL": f"{server.url}/v1",
        "FENCEPOST_OPENAI_API_KEY": KEY,
    }  # fmt: skip


@pytest.mark.contract("O10", "E09", "E10")
def test_codex_ends_in_one_pull_request(
    own: Fencepost, repository: Path, codex: ModelServer
) -> None:
    """What it changed is proposed, what it did is told, and its key is nowhere."""
    check = "grep -q y src/a.py"

    said = own("run", "--agent", "codex", "--check", check, TASK, at=repository, **set_for(codex))

    assert said.code == 0, said.err
    assert said.out.startswith("pull request #1  ")
    for words in (f"runs: codex exec '{TASK}'", "echo y = 2 >> src/a.py", "add docs/b.txt",
                  "| I added y.", "used 300 tokens in, 60 out"):  # fmt: skip
        assert words in said.err
    shown = own("pull-requests", "show", "1").out
    assert f"Asked `codex/v1` to `{TASK}`" in shown
    assert codex.asked[0].headers["authorization"] == f"Bearer {KEY}"
    places = [str(own.home), str(locate(own.home).postgres.parent)]
    held = subprocess.run(
        ["grep", "-rlaF", KEY, *places], capture_output=True, text=True, check=False
    )
    assert held.stdout == "", "in a log, a table, a mirror or a checkout"
    assert KEY not in said.out + said.err

    gone = own("run", "--agent", "codex", TASK, at=repository,
               **set_for(codex) | {"FENCEPOST_CODEX": "no-such-codex"})  # fmt: skip

    assert gone.code == 1
    assert "agent_missing" in gone.out
    assert "set FENCEPOST_CODEX" in gone.out


@pytest.mark.long
@pytest.mark.contract("O10", "E10")
def test_claude_code_ends_in_one_pull_request(own: Fencepost, repository: Path) -> None:
    """The same road, with the other vendor's agent."""
    with ModelServer(Messages(), [SCRIPT[0], Say("I added y.")]) as server:
        said = own(
            "run", "--agent", "claude-code", "--check", "grep -q y src/a.py", TASK, at=repository,
            FENCEPOST_CLAUDE=binary("claude"), FENCEPOST_ANTHROPIC_BASE_URL=server.url,
            FENCEPOST_ANTHROPIC_API_KEY=KEY,
        )  # fmt: skip

    assert said.code == 0, said.err
    assert said.out.startswith("pull request #1  ")
    assert "US dollars" in said.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--agent", "nobody", TASK), "give --agent claude-code|codex"),
        (("--agent", "codex", "Add", "y."), "put the whole of it in quotes"),
        (("--agent", "codex", " "), "put the whole of it in quotes"),
    ],
)
def test_an_agent_that_cannot_be_asked_is_refused(
    own: Fencepost, repository: Path, words: tuple[str, ...], hint: str
) -> None:
    """Before anything is begun, and with what to type."""
    said = own("run", *words, at=repository)

    assert (said.code, said.out) == (2, "")
    assert hint in said.err
    assert not own.home.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FENCEPOST_OPENAI_BASE_URL", "http://models.example.invalid/v1"),
        ("FENCEPOST_ANTHROPIC_BASE_URL", "https://user:hunter2@example.invalid"),
        ("FENCEPOST_CODEX_SANDBOX", "perhaps"),
        ("FENCEPOST_OPENAI_API_KEY_FILE", "/no/such/file"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_a_fault_of_the_worker(
    own: Fencepost, name: str, value: str
) -> None:
    """A key would travel in the clear, or be missed when it is needed."""
    said = own("doctor", **{name: value})

    assert name in said.out
    assert "hunter2" not in said.out
