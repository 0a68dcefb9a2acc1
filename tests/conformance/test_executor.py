"""What every executor must do (E10). A new one adds a stand here and passes before anything else.

The agents are the vendors' real binaries; the models are scripts on loopback.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from doubles.models import Call, Cut, Fail, Hang, Junk, Reason, Run, Say, Write
from doubles.models.messages import Messages
from fixtures.agents import KEY, Stand, claude, codex
from fixtures.role import naming

from workers.executors.base import Noted, Spawned, Wrote
from workers.executors.registry import EXECUTORS

STANDS: dict[str, Callable[[Path], Stand]] = {
    "command/v1": partial(Stand, "command/v1"),
    "codex/v1": partial(Stand, "codex/v1", agents=codex),
    "claude-code/v1": partial(Stand, "claude-code/v1", agents=claude, wire=Messages),
}
AGENTS = [name for name in STANDS if name != "command/v1"]
CANARIES = ("FENCEPOST_DATABASE_URL", "FENCEPOST_REDIS_URL", "FENCEPOST_GITHUB_TOKEN",
            "FENCEPOST_OPENAI_API_KEY", "FENCEPOST_ANTHROPIC_API_KEY", "GITHUB_TOKEN",
            "FENCEPOST_TOKEN", "AWS_SECRET_ACCESS_KEY")  # fmt: skip

ESCAPEE = Path(__file__).parents[1] / "doubles" / "escapee.py"
ESCAPEES = ("deaf", "holder", "stopped", "hidden", "chain")

pytestmark = pytest.mark.contract("E10")


@pytest.fixture(params=list(STANDS))
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Stand:
    """Each executor in turn."""
    return STANDS[request.param](tmp_path)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Stand:
    """Each executor that asks a model."""
    return STANDS[request.param](tmp_path)


def test_every_executor_has_a_stand() -> None:
    """None is let in without passing."""
    assert set(STANDS) == set(EXECUTORS)


@pytest.mark.contract("O09")
def test_files_and_commands_reach_the_checkout(stand: Stand) -> None:
    """What it is asked for happens in the tree, and it says that it is done."""
    ran = stand.run(Run("echo second >> a.txt"), Write("src/b.txt", "b\n"), Say("All of it."))

    assert ran.outcome.problem is None
    assert (stand.tree / "a.txt").read_text() == "first\nsecond\n"
    assert (stand.tree / "src" / "b.txt").read_text() == "b\n"
    assert stand.left() == []


@pytest.mark.contract("O09", "O04")
def test_what_happens_is_told_in_order(agent: Stand) -> None:
    """First that it runs, then each command before its end, each file, and its words."""
    ran = agent.run(Run("echo told"), Write("src/b.txt", "b\n"), Say("All of it."))

    assert isinstance(ran.events[0], Spawned)
    commands = ran.values("command")
    assert [one["state"] for one in commands] == ["started", "completed"]
    assert "told" in commands[1]["output"]
    assert commands[1]["exit"] == 0
    assert [one["path"] for one in ran.values("file")] == ["src/b.txt"]
    assert ran.values("output") == [{"text": "All of it.\n"}]
    order = [one.type for one in ran.events if isinstance(one, Noted)]
    assert order.index("command") < order.index("file") < order.index("output")


def test_a_command_that_fails_fails_nothing(agent: Stand) -> None:
    """An agent may try things; git and the checks say what came of it."""
    ran = agent.run(Run("echo no >&2; exit 3"), Say())

    assert ran.outcome.problem is None
    assert ran.values("command")[1]["state"] == "failed"


def test_output_of_a_command_is_told(tmp_path: Path) -> None:
    """A plain command's output is passed on as it comes."""
    ran = STANDS["command/v1"](tmp_path).run(Say("words"))

    assert b"".join(one.chunk for one in ran.events if isinstance(one, Wrote)) == b"words\n"


@pytest.mark.contract("E11")
def test_usage_is_what_is_reported(stand: Stand) -> None:
    """An agent's tokens are counted; a command reports none, and that is null, not zero."""
    usage = stand.run(Say()).outcome.usage

    if not stand.is_agent:
        assert usage is None
        return
    assert usage is not None
    assert (usage.input_tokens or 0) >= 100
    assert usage.output_tokens == 20
    assert (usage.cost is None) == (stand.name == "codex/v1"), "Codex names no cost"


@pytest.mark.contract("E11", "T09")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Fail(400), "model_refused"),
        (Fail(401), "model_unauthorized"),
        (Fail(403), "model_unauthorized"),
        (Fail(404), "model_refused"),
        (Fail(429), "model_limited"),
        (Fail(500), "model_unavailable"),
        (Fail(503), "model_unavailable"),
        (Cut(), "model_unavailable"),
    ],
    ids=str,
)
def test_each_failure_of_a_model_has_its_class(agent: Stand, answer: Fail | Cut, code: str) -> None:
    """What another try may mend is told apart from what it will not, whatever was done before."""
    ran = agent.run(Run("echo changed >> a.txt"), answer)

    assert ran.code == code
    assert agent.left() == []


@pytest.mark.contract("E09")
def test_a_key_that_comes_back_is_hidden(agent: Stand) -> None:
    """A model that repeats the key which it refuses writes it into nothing that is kept."""
    ran = agent.run(Fail(401, f"incorrect key {KEY} given"))

    assert ran.code == "model_unauthorized"
    assert "incorrect key [redacted:" in str(ran.outcome.problem)
    assert KEY not in repr(ran)


def test_a_command_that_fails_is_not_done(tmp_path: Path) -> None:
    """Of a plain command the exit decides."""
    ran = STANDS["command/v1"](tmp_path).run(Fail(3))

    assert ran.code == "command_failed"
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.detail == "sh: exit 3"


@pytest.mark.parametrize("script", [(Junk(),), (Call("no_such_tool", {"x": 1}), Say())], ids=str)
def test_what_an_agent_does_not_know_it_survives(agent: Stand, script: tuple[Say, ...]) -> None:
    """A model's unknown events and tools are the agent's matter."""
    assert agent.run(*script).outcome.problem is None


def test_thoughts_are_no_ending(agent: Stand) -> None:
    """A model that reasons first is heard to its end."""
    assert agent.run(Reason("I wonder.")).outcome.problem is None


@pytest.mark.contract("O09", "Q08", "E06")
def test_is_canceled_within_seconds(stand: Stand) -> None:
    """A wish to stop while the model is silent ends it at once, and leaves no process."""
    ran = stand.run(Hang(), stop_when=lambda: stand.server.asked or not stand.is_agent)

    assert ran.ended.cause == "stopped"
    assert ran.outcome.problem is not None
    assert ran.took < 6
    assert stand.left() == []


@pytest.mark.contract("Q08", "E06")
def test_is_canceled_with_all_that_it_started(stand: Stand) -> None:
    """A command of its own that traps TERM and leaves its session does not survive the cancel."""
    flag = stand.tree / "is-running"
    stubborn = "trap '' TERM INT HUP; touch is-running; while :; do sleep 1; done"
    script = f'setsid sh -c "{stubborn}" & sh -c "{stubborn}"'

    ran = stand.run(Run(script), stop_when=flag.exists)

    assert flag.exists()
    assert ran.ended.cause == "stopped"
    assert ran.took < 8
    assert stand.left() == []


@pytest.mark.contract("Q08", "E06")
@pytest.mark.parametrize("ends_by", ["itself", "cancel"])
def test_nothing_that_it_leaves_is_left(stand: Stand, ends_by: str) -> None:
    """Deaf, parentless, frozen, hidden, forking without end: at its end or a cancel all is gone."""
    place = stand.tree / "left"
    place.mkdir()
    after = "0" if ends_by == "itself" else "stay"
    words = (sys.executable, str(ESCAPEE), str(place), *ESCAPEES, after)

    ran = stand.run(
        Run(shlex.join(words)), Say(),
        stop_when=(place / "ready").exists if ends_by == "cancel" else None,
    )  # fmt: skip

    assert (place / "ready").exists()
    assert ran.ended.cause == ("exited" if ends_by == "itself" else "stopped")
    assert ran.ended.survivors == 0
    assert (stand.left(), naming(place)) == ([], {})


@pytest.mark.contract("E07", "E06")
@pytest.mark.parametrize(
    ("limits", "code"),
    [({"deadline": 4.0}, "deadline_exceeded"), ({"stall": 4.0}, "stalled")],
    ids=["deadline", "stall"],
)
def test_time_runs_out(stand: Stand, limits: dict[str, float], code: str) -> None:
    """A model that never answers is not waited for longer than was said."""
    ran = stand.run(Hang(), **limits)

    assert ran.code == code
    assert ran.took < 12
    assert stand.left() == []


@pytest.mark.contract("E06")
def test_a_killed_agent_leaves_nothing(stand: Stand) -> None:
    """Whoever kills the agent itself kills its commands with it; that is a failure."""
    flag = stand.tree / "is-running"
    begun: list[int] = []

    def kill() -> None:
        if flag.exists() and begun:
            os.kill(begun.pop(), signal.SIGKILL)

    ran = stand.run(
        Run("touch is-running; sleep 300"), stop_when=kill,
        on_event=lambda one: begun.append(one.pid) if isinstance(one, Spawned) else None,
    )  # fmt: skip

    assert (ran.ended.cause, ran.ended.signal) == ("exited", signal.SIGKILL)
    assert ran.code == ("agent_failed" if stand.is_agent else "command_failed")
    assert stand.left() == []


@pytest.mark.contract("E02", "E09")
def test_environment_holds_no_secret(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the worker's credentials nor the model's key reach what runs, nor any argument."""
    for name in CANARIES:
        monkeypatch.setenv(name, f"canary-{name}")
    arguments: list[bytes] = []

    def heard(event: object) -> None:
        if isinstance(event, Spawned):
            arguments.append(Path(f"/proc/{event.pid}/cmdline").read_bytes())

    look = "env > seen.txt; cat /proc/$PPID/environ >> seen.txt; cat /proc/*/cmdline >> seen.txt"
    ran = stand.run(Run(look), Say(), on_event=heard)

    seen = (stand.tree / "seen.txt").read_bytes() + b"".join(arguments) + repr(ran.events).encode()
    assert b"FENCEPOST_OPERATION=" in seen
    assert b"canary-" not in seen
    assert KEY.encode() not in seen


@pytest.mark.contract("E02")
def test_key_is_in_no_file(agent: Stand) -> None:
    """The model is asked with the key; afterwards no file of the run holds it."""
    agent.run(Run("true"), Say())

    asked = str(agent.server.asked[0].headers)
    assert KEY in asked
    held = [path for path in agent.folder.rglob("*") if path.is_file() and not path.is_symlink()
            and KEY.encode() in path.read_bytes()]  # fmt: skip
    assert held == []


@pytest.mark.contract("E02")
def test_a_repository_configures_no_agent(agent: Stand) -> None:
    """Hooks and servers that the repository would have started are not."""
    mark = agent.folder / "ran"
    hook = {"hooks": [{"type": "command", "command": f"touch {mark}"}]}
    (agent.tree / ".claude").mkdir()
    (agent.tree / ".claude" / "settings.json").write_text(
        f'{{"hooks": {{"SessionStart": [{hook}], "Stop": [{hook}]}}}}'.replace("'", '"')
    )
    (agent.tree / ".mcp.json").write_text(
        f'{{"mcpServers": {{"m": {{"command": "touch", "args": ["{mark}"]}}}}}}'
    )
    (agent.tree / ".codex").mkdir()
    (agent.tree / ".codex" / "config.toml").write_text(
        f'[mcp_servers.m]\ncommand = "touch"\nargs = ["{mark}"]\n'
    )

    ran = agent.run(Run("true"), Say())

    assert ran.outcome.problem is None
    assert not mark.exists()


def test_codex_keeps_to_its_sandbox(tmp_path: Path) -> None:
    """It writes nowhere else and reaches no network; that it was denied is no failure."""
    stand = STANDS["codex/v1"](tmp_path / "stand")
    outside = tmp_path / "outside"

    ran = stand.run(Run(f"touch {outside}; echo tried >> a.txt"), Say())

    assert ran.outcome.problem is None
    assert not outside.exists()
    assert "tried" in (stand.tree / "a.txt").read_text()


def test_claude_code_is_denied_other_tools(tmp_path: Path) -> None:
    """A tool that was not allowed is refused to it and told as a warning."""
    stand = STANDS["claude-code/v1"](tmp_path)

    ran = stand.run(Call("WebFetch", {"url": "http://127.0.0.1:1/", "prompt": "x"}), Say())

    assert ran.outcome.problem is None
    assert any("permission_denied" in one.get("text", "") for one in ran.values("step"))
