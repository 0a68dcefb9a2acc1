"""An agent's two streams come apart: neither tears what the other says."""

from __future__ import annotations

import json
import shlex
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from doubles.models.messages import Messages
from doubles.models.responses import Responses
from executors.conftest import Program
from fixtures.agents import Ran, Stand, claude, codex

from workers.executors.base import Wrote

COMPLETED = {"type": "turn.completed", "usage": {"input_tokens": 7}}
RESULT = {"type": "result", "subtype": "success", "is_error": False}
NUMBER, SIZE = 8, 1_000_000
#: Writes long lines in pieces that fit no pipe, while another thread floods the other stream.
LOUD = """
import os, sys, threading
number, size, line = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode() + bytes([10])
is_over = threading.Event()

def flood():
    while not is_over.is_set():
        os.write(2, b"noise and {\\"type\\":\\"turn.failed\\"} " * 40)

thread = threading.Thread(target=flood)
thread.start()
for one in range(number):
    whole = line.replace(b"@", b"%d" % one).replace(b"#", b"x" * size)
    while whole:
        whole = whole[os.write(1, whole[:70001]):]
is_over.set()
thread.join()
os.write(2, b"\\nthe last word\\n")
"""

Says = Callable[..., Ran]


@pytest.fixture
def says(program: Program, tmp_path: Path) -> Says:
    """Run an executor with a program that runs this command, then says this as its last word."""

    def run(name: str, command: str, last: object, code: int = 0) -> Ran:
        is_codex = name == "codex/v1"
        version = "0.171.5" if is_codex else "2.1.400"
        path = program(last, version=version, runs=command, code=code)
        agents = codex if is_codex else claude
        return Stand(
            name, tmp_path / uuid.uuid4().hex, agents=lambda url: agents(url, path),
            wire=Responses if is_codex else Messages,
        ).run()  # fmt: skip

    return run


def loud(line: object) -> str:
    """The command that writes this line so often, and noise beside it."""
    words = (sys.executable, "-c", LOUD, str(NUMBER), str(SIZE), json.dumps(line))
    return shlex.join(words)


@pytest.mark.contract("E05", "O04")
@pytest.mark.parametrize(
    ("name", "line", "last"),
    [
        ("codex/v1", {"type": "long", "number": "@", "text": "#"}, COMPLETED),
        ("claude-code/v1", {"type": "long", "number": "@", "text": "#"}, RESULT),
    ],
)
def test_no_line_is_torn_by_the_other_stream(
    says: Says, name: str, line: object, last: object
) -> None:
    """Lines of a megabyte on stdout beside a flood on stderr: each is read, and so is the last."""
    ran = says(name, loud(line), last)

    assert ran.outcome.problem is None
    kept = [one["value"] for one in ran.values("step") if one.get("type") == "long"]
    assert [one["number"] for one in kept] == [str(number) for number in range(NUMBER)]
    noise = b"".join(one.chunk for one in ran.events if isinstance(one, Wrote))
    assert noise.endswith(b"the last word\n")
    assert b"xxx" not in noise


@pytest.mark.contract("E11")
def test_what_stands_on_stderr_is_no_event(says: Says) -> None:
    """A program that an agent runs may write there; it ends no turn."""
    words = shlex.quote(json.dumps({"type": "turn.failed", "error": "no"}))
    done = shlex.quote(json.dumps(COMPLETED))

    assert says("codex/v1", f"echo {words} >&2", COMPLETED).outcome.problem is None
    ran = says("codex/v1", f"echo {done} >&2", {"type": "turn.started"})
    assert ran.code == "ending_missing"


@pytest.mark.parametrize("name", ["codex/v1", "claude-code/v1"])
def test_a_failure_tells_the_last_words_of_stderr(says: Says, name: str) -> None:
    """Whatever stdout said: the last three lines that are not blank, each cut."""
    lines = "echo first >&2; echo second >&2; echo >&2; echo third >&2; printf fourth >&2"

    ran = says(name, lines, {"type": "system"}, code=5)

    assert ran.outcome.problem is not None
    assert ran.outcome.problem.detail.endswith(": exit 5: second | third | fourth")
