"""What one run costs beside calling its command by hand: milliseconds by step.

From the folder `tests`: `../.venv/bin/python -m bench.overhead [--runs 30] [--agent codex]`
One attempt at a time on an idle stack; the steps are between the worker's own moments, by its log.
With an agent its model is a script on loopback: what is measured is the program, not a model.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from bench.ground import ground, machine
from bench.table import show
from doubles.models import ModelServer, Run, Say
from doubles.models.responses import Responses
from fixtures.agents import KEY, binary
from fixtures.stack import Stack, a_repository
from fixtures.world import Attempt

from app import agents
from app.domain.executor import AGENTS
from app.domain.work_order import Agent
from app.events import Moment
from app.kinds import author
from app.repository.git import git
from app.store.engine import open_store
from workers.executors.base import Assignment
from workers.executors.registry import executor
from workers.workspace.environment import agent_environment
from workers.workspace.process import Command, run

_COMMAND = "echo 'y = 2' >> a.py"
_ASKED = "Add y to a.py."
#: Each step of the author's road: its name, and the moment that ends it.
_STEPS = (
    ("bind the operation", Moment.BOUND),
    ("checkout, and look at the remote", Moment.DECIDED),
    ("push the mark", Moment.MARKED),
    ("start row", Moment.STARTED),
    ("supervisor, spawn", Moment.SPAWNED),
    ("the run itself", Moment.EXITED),
    ("snapshot, scope, commit", Moment.COMMITTED),
    ("push result and branch", Moment.PUSHED),
    ("record", Moment.RECORDED),
)
_LINE = re.compile(r"^(\S+)Z \w+ worker (\S+) .*?kind=(\S+)", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.overhead", description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--agent", choices=["codex"])
    told = parser.parse_args()
    with ground() as here, _model(told.agent) as settings:
        print(f"{machine(here.server)}; {told.files} files, {told.agent or 'a command'}\n")
        database = here.database()
        folder = here.new_folder()
        with closing(open_store(database.app_url, name="bench")) as store:
            stack = Stack(folder, database, store, here.redis_url)
            stack.settings |= settings
            files = {f"folder{n % 20}/file{n}.py": f"x = {n}\n" * 40 for n in range(told.files)}
            stack.source = a_repository(folder / "large", {"a.py": "x = 1\n", **files})
            try:
                report(*measure(stack, settings, told.agent, told.runs))
            finally:
                stack.close()


@contextmanager
def _model(agent: str | None) -> Iterator[dict[str, str]]:
    """The settings of a worker whose agent asks a script."""
    if agent is None:
        yield {}
        return
    with ModelServer(Responses(), [Run(_COMMAND), Say("I added y.")]) as server:
        yield {
            "FENCEPOST_CODEX": binary("codex"),
            "FENCEPOST_OPENAI_BASE_URL": f"{server.url}/v1",
            "FENCEPOST_OPENAI_API_KEY": KEY,
        }


def measure(
    stack: Stack, settings: dict[str, str], agent: str | None, runs: int
) -> tuple[list[float], list[float], list[list[float]]]:
    """Seconds by hand, seconds by hand under a supervisor, and of each run by step."""
    stack.start_dispatcher()
    worker = stack.start_worker(slots=1)
    stack.until(lambda: worker.says("role.started"))
    plain, watched, fenced = [], [], []
    for number in range(runs + 1):
        clone = stack.outside / f"clone{number}"
        git("clone", "--quiet", "--", str(stack.source), str(clone))
        hand, supervised = _by_hand(clone, settings, agent), _supervised(clone, settings, agent)
        began = worker.log.stat().st_size
        one = stack.dispatch("", agent=Agent(agent, _ASKED)) if agent else stack.dispatch(_COMMAND)
        _wait(stack, one)
        if number:  # the first one is the caches'
            plain.append(hand)
            watched.append(supervised)
            fenced.append(_steps(worker.log.read_bytes()[began:].decode()))
    return plain, watched, fenced


def _by_hand(clone: Path, settings: dict[str, str], agent: str | None) -> float:
    """The very command that a worker runs, called without it."""
    command = _command(clone, clone.with_name(clone.name + "-scratch"), settings, agent)
    began = time.monotonic()
    subprocess.run(
        command.argv, cwd=clone, env=command.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
    )  # fmt: skip
    return time.monotonic() - began


def _supervised(clone: Path, settings: dict[str, str], agent: str | None) -> float:
    command = _command(clone, clone.with_name(clone.name + "-other"), settings, agent)
    began = time.monotonic()
    marker = {"FENCEPOST_OPERATION": "bench"}
    ended = run(command, on_output=lambda chunk: None, stop=threading.Event(), marker=marker)
    assert ended.is_success, ended
    return time.monotonic() - began


def _command(clone: Path, scratch: Path, settings: dict[str, str], agent: str | None) -> Command:
    environment = agent_environment(scratch, {})
    minute = timedelta(minutes=1)
    if agent is None:
        return Command(("sh", "-c", _COMMAND), clone, environment, minute, None)
    found = executor(AGENTS[agent], agents.read({**os.environ, **settings}))
    session = found.prepare(
        Assignment((), _ASKED, clone, scratch, environment, {}, minute, stall=None)
    )
    return session.command  # type: ignore[attr-defined, no-any-return]  # the same for every agent


def _wait(stack: Stack, one: Attempt) -> None:
    seen = stack.seen(one)
    stack.until(lambda: seen.is_over)


def _steps(log: str) -> list[float]:
    """Seconds of each step of the author's road, in the order of _STEPS."""
    at = {
        moment: datetime.fromisoformat(when).timestamp()
        for when, moment, kind in reversed(_LINE.findall(log))  # the first of each is kept
        if kind == author.NAME
    }
    moments = [Moment.CLAIMED, *(moment for _, moment in _STEPS)]
    return [at[after] - at[before] for before, after in pairwise(moments)]


def report(plain: Sequence[float], watched: Sequence[float], fenced: list[list[float]]) -> None:
    """Medians; what is not the run itself is the overhead."""
    columns = list(zip(*fenced, strict=True))
    rows = [
        (name, f"{statistics.median(column) * 1000:.0f}", f"{max(column) * 1000:.0f}")
        for (name, _), column in zip(_STEPS, columns, strict=True)
    ]
    whole = [sum(steps) for steps in fenced]
    beside = statistics.median(whole) - statistics.median(plain)
    rows += [
        ("all, from claim to record", *_two(whole)),
        ("by hand", *_two(plain)),
        ("by hand, under a supervisor", *_two(watched)),
        ("overhead beside by hand", f"{beside * 1000:.0f}", ""),
    ]
    show(("step", "ms, median", "slowest"), rows)


def _two(seconds: Sequence[float]) -> tuple[str, str]:
    return f"{statistics.median(seconds) * 1000:.0f}", f"{max(seconds) * 1000:.0f}"


if __name__ == "__main__":
    main()
