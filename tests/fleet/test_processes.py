"""Who runs what: dispatcher, worker, guard, supervisor and agent are separate processes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from fixtures.stack import Stack

from app.domain.board import Column

#: Run as the agent: writes down itself, what is above it, and its own environment.
_LOOK = """
import json, os, pathlib, sys
def stat(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
pids = [os.getpid()]
while pids[-1] > 1:
    pids.append(int(stat(pids[-1])[1]))
seen = {
    "above": [[p, pathlib.Path(f"/proc/{p}/cmdline").read_text().split(chr(0))] for p in pids if p],
    "environment": dict(os.environ), "arguments": sys.argv,
}
pathlib.Path(sys.argv[1]).write_text(json.dumps(seen))
pathlib.Path("seen.txt").touch()
"""


@pytest.fixture
def look(stack: Stack, tmp_path: Path) -> tuple[str, Path]:
    """A command that looks around from inside a run, and the file that says what it saw."""
    script, answer = tmp_path / "look.py", stack.outside / "seen.json"
    script.write_text(_LOOK)
    return f"exec {sys.executable} -I {script} {answer}", answer


@pytest.mark.contract("O10", "E02")
def test_dispatcher_worker_guard_supervisor_and_agent_are_five_processes(
    stack: Stack, look: tuple[str, Path]
) -> None:
    """The agent is its supervisor's child, as that is the guard's; the dispatcher is apart."""
    command, answer = look
    dispatcher, worker = stack.start_dispatcher(), stack.start_worker()
    seen = stack.seen(stack.dispatch(command))

    stack.until(lambda: seen.is_over)

    assert seen.outcome == "done"
    told = json.loads(answer.read_text())
    (agent, _), (supervisor, how), (guard, _), (above, _), *_ = told["above"]
    assert above == worker.process.pid
    assert any("workers.workspace.supervisor" in word for word in how)
    above = {agent, supervisor, guard, worker.process.pid, dispatcher.process.pid, os.getpid()}
    assert len(above) == 6


@pytest.mark.contract("E02")
def test_an_agent_is_told_no_address_and_no_password(stack: Stack, look: tuple[str, Path]) -> None:
    """Its environment is an allow list: how to reach database and Redis is not on it."""
    command, answer = look
    stack.build()
    seen = stack.seen(stack.dispatch(command))

    stack.until(lambda: seen.is_over)

    told = json.loads(answer.read_text())
    names = set(told["environment"])
    assert names - {"LC_CTYPE", "LC_ALL", "LANG", "TZ"} == {
        "PATH", "HOME", "TMPDIR", "PWD", "FENCEPOST_ATTEMPT", "FENCEPOST_OPERATION",
        "FENCEPOST_FENCE", "FENCEPOST_OUTPUTS",
    }  # fmt: skip
    text = json.dumps(told)
    assert "postgresql" not in text
    assert "redis://" not in text


@pytest.mark.contract("Q12")
def test_an_attempt_stays_queued_while_no_worker_runs(stack: Stack, work: str) -> None:
    """Its message waits in Redis and its card in progress; the first worker takes it up."""
    dispatcher = stack.start_dispatcher()
    seen = stack.seen(stack.dispatch(work))
    stack.until(lambda: dispatcher.says("delivery.published"))

    assert (seen.outcome, seen.column, seen.fence()) == (None, Column.IN_PROGRESS, 0)
    assert seen.steps == {"author": "dispatched", "pull_request": "pending"}
    stack.start_worker()

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, stack.count("author")) == ("done", 1)


@pytest.mark.contract("Q06")
def test_a_worker_that_is_told_to_end_finishes_what_runs(stack: Stack, waiting: str) -> None:
    """SIGTERM: the run goes on to its record, and then the worker is gone."""
    stack.start_dispatcher()
    worker = stack.start_worker()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    worker.process.terminate()
    (stack.outside / "go").touch()

    assert worker.process.wait(30) == 0
    assert seen.observation() is not None
    assert (seen.open_claims(), stack.count("author")) == (0, 1)


@pytest.mark.contract("Q06", "E06")
def test_a_worker_that_is_told_twice_hands_its_work_back(stack: Stack, waiting: str) -> None:
    """The second SIGTERM ends the run; nothing of it is left, and the next worker need not wait."""
    stack.start_dispatcher()
    worker = stack.start_worker()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    worker.process.terminate()
    stack.until(lambda: worker.says("Warm shutdown"))
    worker.process.terminate()

    assert worker.process.wait(10) == 0
    stack.until(lambda: seen.open_claims() == 0, 2)
    (stack.outside / "go").touch()
    stack.start_worker()
    stack.until(lambda: seen.is_over)
    assert (seen.outcome, stack.count("author")) == ("done", 2)
