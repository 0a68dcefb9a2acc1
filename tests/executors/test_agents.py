"""What is made of an agent's words that no vendor's binary can be made to say."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from doubles.models.messages import Messages
from executors.conftest import Program
from fixtures.agents import NOTHING, Ran, Stand, claude, codex

from app.agents import Agents
from app.domain.agent import AgentKeyMissing, AgentMissing, AgentUnfit
from workers.executors import program, registry
from workers.executors.base import Capabilities, Wrote
from workers.executors.registry import EXECUTORS, executor

COMPLETED = {"type": "turn.completed", "usage": {"input_tokens": 7}}
RESULT = {"type": "result", "subtype": "success", "is_error": False}
CODEX_KNOWS = "--json --skip-git-repo-check --ephemeral --ignore-rules"

Said = Callable[..., Ran]


@pytest.fixture
def codex_says(program: Program, tmp_path: Path) -> Said:
    """Run `codex/v1` with a program that says these lines."""

    def run(*lines: object, **how: Any) -> Ran:
        path = program(*lines, **how)
        place = tmp_path / uuid.uuid4().hex
        return Stand("codex/v1", place, agents=lambda url: codex(url, path)).run()

    return run


@pytest.fixture
def claude_says(program: Program, tmp_path: Path) -> Said:
    """Run `claude-code/v1` with a program that says these lines."""

    def run(*lines: object, **how: Any) -> Ran:
        path = program(*lines, version="2.1.400", **how)
        return Stand(
            "claude-code/v1", tmp_path / uuid.uuid4().hex, agents=lambda url: claude(url, path),
            wire=Messages,
        ).run()  # fmt: skip

    return run


@pytest.mark.contract("E11")
def test_exit_0_without_an_ending_is_a_failure(codex_says: Said, claude_says: Said) -> None:
    """A program that stops in the middle and calls it well is not believed."""
    assert codex_says({"type": "turn.started"}).code == "ending_missing"
    assert claude_says({"type": "system", "subtype": "init"}).code == "ending_missing"


@pytest.mark.contract("E11")
def test_an_ending_that_is_not_the_last_word_is_none(codex_says: Said) -> None:
    """What goes on after it was completed has not ended."""
    assert codex_says(COMPLETED, {"type": "turn.started"}).code == "ending_missing"


@pytest.mark.contract("E11")
def test_an_ending_with_another_exit_is_a_failure(codex_says: Said, claude_says: Said) -> None:
    """The last word and the exit have to agree."""
    assert codex_says(COMPLETED, code=3).code == "agent_failed"
    assert claude_says(RESULT, code=3).code == "agent_failed"


@pytest.mark.contract("E11")
def test_a_result_that_does_not_deny_an_error_is_one(claude_says: Said) -> None:
    """Claude Code calls a failure `success`; only `is_error: false` is."""
    assert claude_says({"type": "result", "subtype": "success"}).code == "agent_failed"


@pytest.mark.contract("E11")
def test_what_is_not_reported_is_null(codex_says: Said, claude_says: Said) -> None:
    """A number that is missing, negative or no number is null, never zero."""
    usage = codex_says(COMPLETED).outcome.usage
    assert usage is not None
    assert usage.value() == {
        "input_tokens": 7, "cached_tokens": None, "output_tokens": None, "cost_microdollars": None,
    }  # fmt: skip
    assert claude_says(RESULT).outcome.usage is None
    odd = {**RESULT, "usage": {"input_tokens": 1, "output_tokens": -1}, "total_cost_usd": True}
    usage = claude_says(odd).outcome.usage
    assert usage is not None
    assert set(usage.value().values()) == {None}


@pytest.mark.contract("O04")
def test_unknown_types_are_kept_as_such(codex_says: Said, claude_says: Said) -> None:
    """What a later version says is in the journal, with its name."""
    new = {"type": "brand.new", "value": {"deep": [1.5, None, "\ud800\0"]}}

    for ran in (codex_says(new, COMPLETED), claude_says(new, RESULT)):
        (kept,) = [one for one in ran.values("step") if one["step"] == "agent_event"]
        assert kept["type"] == "brand.new"
        assert kept["value"]["value"] == {"deep": ["1.5", None, "�"]}
        assert ran.outcome.problem is None


@pytest.mark.contract("E05")
def test_other_words_between_the_lines_do_no_harm(codex_says: Said) -> None:
    """Both streams arrive as one: what is no object is output, wherever it comes."""
    whole = '{"type":"turn.completed","usage":{"input_tokens":7}}'

    ran = codex_says("ERROR before " + whole + " and after", "", "[1, 2]", '{"type": 5}', "null")

    assert ran.outcome.problem is None
    assert ran.outcome.usage is not None
    output = b"".join(one.chunk for one in ran.events if isinstance(one, Wrote))
    assert output == b'ERROR before\nand after\n[1, 2]\n{"type": 5}\nnull\n'


@pytest.mark.contract("E05")
def test_a_line_without_an_end_is_let_go(codex_says: Said) -> None:
    """Ten megabytes on one line are not held, and what follows is read."""
    ran = codex_says("x" * 10_000_000, COMPLETED)

    assert ran.outcome.problem is None


@pytest.mark.contract("E05")
def test_what_is_too_large_is_cut(codex_says: Said) -> None:
    """An event holds the beginning of a long text."""
    item = {"type": "agent_message", "text": "y" * 50_000}

    ran = codex_says({"type": "item.completed", "item": item}, COMPLETED)

    (words,) = ran.values("output")
    assert len(words["text"]) <= 4_001


@pytest.mark.contract("E05")
def test_a_flood_of_events_is_cut(codex_says: Said) -> None:
    """A stream without end fills no journal; its last word counts all the same."""
    ran = codex_says(*[{"type": "flood"}] * 6_000, COMPLETED)

    assert ran.outcome.problem is None
    assert len(ran.values("step")) == 5_001
    assert ran.values("step")[-1]["text"] == "1001 events more than 5000 are left out"


def test_a_quota_that_is_used_up_is_not_tried_again(codex_says: Said) -> None:
    """Nor is what Codex says in words alone taken for something that passes."""
    failed = {"type": "turn.failed", "error": {"message": "Quota exceeded. Check your plan."}}

    assert codex_says(failed, code=1).code == "model_quota_used_up"


@pytest.mark.parametrize("name", ["codex/v1", "claude-code/v1"])
def test_what_is_missing_is_named(name: str, program: Program, tmp_path: Path) -> None:
    """Without the program, or without a key, nothing runs, and it is said what to set."""
    with pytest.raises(AgentMissing) as missing:
        executor(name, absent()).prepare(Stand(name, tmp_path / "a")._assignment((), 1, None))
    assert "set FENCEPOST_C" in missing.value.advice

    path = program(version="0.171.5" if name == "codex/v1" else "2.1.400")
    keyless = Agents(replace(NOTHING.codex, program=path), replace(NOTHING.claude, program=path))
    with pytest.raises(AgentKeyMissing, match="_API_KEY is not set"):
        executor(name, keyless).prepare(Stand(name, tmp_path / "b")._assignment((), 1, None))


def test_a_prompt_that_no_argument_holds_is_refused(program: Program, tmp_path: Path) -> None:
    """It says what to do instead; the kernel would only say that it cannot run it."""
    stand = Stand("codex/v1", tmp_path / "stand")
    long = replace(stand._assignment((), 1, None), prompt="ü" * 70_000)

    with pytest.raises(AgentUnfit, match="140,000 bytes"):
        executor("codex/v1", codex("http://127.0.0.1:1", program())).prepare(long)


def test_another_version_is_probed_and_warned_about(codex_says: Said) -> None:
    """What was not tested is tried if it knows what it will be told, and that is said."""
    ran = codex_says(COMPLETED, version="1.0.0", knows=CODEX_KNOWS)

    assert ran.outcome.problem is None
    (warning,) = [one for one in ran.values("step") if one["step"] == "warning"]
    assert "1.0.0 is not a version that was tested" in warning["text"]


def test_a_version_that_knows_less_is_refused(codex_says: Said) -> None:
    """What it lacks is named."""
    with pytest.raises(AgentUnfit, match="does not know --ephemeral"):
        codex_says(COMPLETED, version="0.1.0", knows=CODEX_KNOWS.replace("--ephemeral", ""))


@pytest.mark.contract("E06")
@pytest.mark.parametrize("after", ["exit 0", "wait"], ids=["says it", "hangs"])
def test_who_only_says_what_it_is_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """A program that is asked for its version is held like a run, to its end and to its time."""
    monkeypatch.setattr(program, "_PATIENCE", timedelta(seconds=1))
    script, child = tmp_path / "codex", tmp_path / "child"
    stubborn = "(trap '' TERM; exec sleep 600)"
    script.write_text(f"#!/bin/sh\n{stubborn} & echo $! > {child}; echo codex 0.1\n{after}\n")
    script.chmod(0o755)

    with pytest.raises(AgentUnfit):
        program.find(str(script), "FENCEPOST_CODEX", program.Tested((1, 0, 0), (2, 0, 0), (), ()))

    assert not Path(f"/proc/{child.read_text().strip()}").exists()


def test_a_sandbox_that_does_not_hold_is_not_relied_upon(codex_says: Said) -> None:
    """Every command would fail in it, and Codex would call that well."""
    with pytest.raises(AgentUnfit, match="does not hold here: exit 7"):
        codex_says(COMPLETED, sandbox=7)


@pytest.mark.contract("T10")
@pytest.mark.parametrize("name", list(EXECUTORS))
def test_none_is_ever_resumed(name: str) -> None:
    """Each can be canceled, and is begun anew."""
    found = executor(name, NOTHING)

    assert found.name == name
    assert found.capabilities == Capabilities(cancel=True, resume=False, isolation=True)


class Acme:
    """An executor from elsewhere."""

    name = "acme/v1"
    capabilities = Capabilities(cancel=True, resume=False)


class Resuming(Acme):
    """One that claims too much."""

    capabilities = Capabilities(cancel=True, resume=True)


@pytest.mark.contract("T10")
def test_others_come_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package adds an executor; one that claims to resume, or cannot be loaded, is refused."""
    points = {"acme": Acme, "resuming": Resuming}
    monkeypatch.setattr(registry, "entry_points", lambda group: [
        *(Point(name, "somewhere:it", group, made) for name, made in points.items()),
        EntryPoint("broken", "no_such_module:it", group),
    ])  # fmt: skip

    assert isinstance(executor("acme/v1", NOTHING), Acme)
    with pytest.raises(AgentUnfit, match="keeps its runs apart"):
        executor("acme/v1", NOTHING, is_apart=True)
    for name in ("resuming/v1", "broken/v1"):
        with pytest.raises(AgentUnfit):
            executor(name, NOTHING)
    with pytest.raises(AgentMissing, match="there are acme/v1, broken/v1, claude-code/v1"):
        executor("nobody/v1", NOTHING)


class Point:
    """An entry point that is loaded already."""

    def __init__(self, name: str, value: str, group: str, made: type) -> None:
        self.name, self.value, self.group, self._made = name, value, group, made

    def load(self) -> type:
        """What it names."""
        return self._made


def absent() -> Agents:
    """Agents whose programs are nowhere."""
    nowhere = "no-such-program-anywhere"
    return Agents(replace(NOTHING.codex, program=nowhere), replace(NOTHING.claude, program=nowhere))
