"""A worker that dies while its program runs: nothing of the program survives, another goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.role import Role, naming
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.events import Moment
from app.kinds import author
from workers.workspace.presence import carrying

Killed = Callable[[Role], None]
Published = Callable[[Seen], None]
AUTHOR = f"kind={author.NAME}"


@pytest.mark.contract("M06", "E06", "Q06")
def test_a_worker_killed_in_mid_run_takes_its_program_along_and_another_starts_afresh(
    stack: Stack, waiting: str, killed_at: Killed, published_once: Published
) -> None:
    """No process of the first run is left; the second runs under `guarded`, and is the last."""
    seen = stack.seen(stack.dispatch(waiting, stack.counted("check")))
    stack.start_dispatcher()
    worker = stack.start_worker(f"{Moment.SPAWNED} {AUTHOR}")
    stack.until(lambda: worker.is_stopped and stack.count("author"))

    killed_at(worker)
    stack.until(lambda: not naming(stack.home))
    (stack.outside / "go").touch()
    stack.build()

    published_once(seen)
    assert (stack.count("author"), stack.count("check")) == (2, 1)
    assert seen.chain == [
        "started under fence 1", "guarded under fence 2", "result under fence 2",
    ]  # fmt: skip


@pytest.mark.contract("M06", "E06")
def test_a_program_that_outlives_worker_and_supervisor_is_ended_by_the_next_claim(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """Nobody watches it any more; whoever comes next finds it by its markers, and ends it first."""
    seen = stack.seen(stack.dispatch(waiting))
    stack.build()
    stack.until(lambda: stack.count("author"))
    worker = stack.roles[-1]
    run = {"FENCEPOST_FENCE": "1", "FENCEPOST_ATTEMPT": seen.attempt.id}
    (guard,) = children_of(worker.process.pid)
    (supervisor,) = children_of(guard)

    worker.stop()
    for one in (guard, supervisor):
        os.kill(one, signal.SIGSTOP)
    for one in (supervisor, guard):
        os.kill(one, signal.SIGKILL)
    worker.kill()
    assert carrying(run)
    stack.start_worker()
    stack.until(lambda: stack.count("author") == 2)

    assert carrying(run) == []
    (stack.outside / "go").touch()
    published_once(seen)
    assert stack.count("author") == 2


@pytest.mark.contract("E01", "Q06")
def test_a_live_worker_takes_over_from_a_dead_one_and_clears_up_after_it(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """No other process has to start: the work is claimed again, and both checkouts are gone."""
    seen = stack.seen(stack.dispatch(waiting))
    stack.build()
    stack.until(lambda: stack.count("author"))
    first, second = stack.roles[-1], stack.start_worker()
    stack.until(lambda: second.says("role.started"))

    first.kill()
    (stack.outside / "go").touch()

    published_once(seen)
    assert stack.count("author") == 2


@pytest.mark.long
@pytest.mark.contract("Q09")
def test_a_program_that_kills_its_worker_again_and_again_becomes_a_dead_letter(
    stack: Stack,
) -> None:
    """Five starts, then one claim that only closes; the attempt is dead, and a letter says so."""
    guard = "$(ps -o ppid= -p $PPID)"
    poison = f"{stack.counted('author')}; kill -9 $(ps -o ppid= -p {guard}); sleep 60"
    seen = stack.seen(stack.dispatch(poison))
    stack.start_dispatcher()
    workers = [stack.start_worker()]

    def is_over_while_workers_are_restarted() -> bool:
        if not workers[-1].is_alive:
            workers.append(stack.start_worker())
        return seen.is_over

    stack.until(is_over_while_workers_are_restarted, 100)

    assert (seen.outcome, stack.count("author"), seen.starts()) == ("dead", 5, 5)
    assert seen.chain[-1] == "closed under fence 6"
    assert (seen.head, seen.requests, seen.dead_letters()) == ("", [], ["poison"])
    assert b"no result; the last: lost_worker: its lease ran out" in (seen.observation() or b"")


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]
