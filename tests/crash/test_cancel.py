"""A cancel reaches a running program, needs no worker, and survives one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.role import Role, naming, state_of
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.domain.board import Column
from app.events import Moment
from app.kinds import author, pull_request
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from workers.workspace.environment import OPERATION
from workers.workspace.presence import alive

Killed = Callable[[Role], None]
AUTHOR = f"kind={author.NAME}"
REQUEST = f"kind={pull_request.NAME}"
LONG_LEASE = {"FENCEPOST_LEASE": "120"}  #: so that nothing here comes from a lease that ran out
WHY = "it is not needed any more"
CLOSED = ("started under fence 1", "closed under fence 1")
RESULT = ("started under fence 1", "result under fence 1")


@pytest.mark.contract("Q08", "E06")
def test_a_canceled_run_ends_at_once_and_closes_its_operation(stack: Stack, waiting: str) -> None:
    """The program's tree is gone, the ref says `closed`, and nothing is published."""
    attempt = stack.dispatch(waiting)
    seen = stack.seen(attempt)
    stack.build()
    stack.until(lambda: stack.count("author"))
    roles = set(naming(stack.home))

    cancel(stack.store, stack.world, LOCAL, attempt.id, "it is not needed any more")

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, seen.column) == ("canceled", Column.READY)
    assert seen.chain == ["started under fence 1", "closed under fence 1"]
    assert (seen.head, seen.requests) == ("", [])
    stack.until(lambda: set(naming(stack.home)) < roles)
    assert len(naming(stack.home)) == len(stack.roles)
    stack.until(lambda: not list((stack.home / "checkouts").glob("*")))


@pytest.mark.long
@pytest.mark.contract("Q08")
def test_a_cancel_survives_the_worker_that_carries_it_out(
    stack: Stack, waiting: str, killed_at: Killed
) -> None:
    """Killed when the ref says `closed` and no row does: the next claim ends it, runs nothing."""
    attempt = stack.dispatch(waiting)
    seen = stack.seen(attempt)
    stack.start_dispatcher()
    worker = stack.start_worker(f"{Moment.CLOSED} {AUTHOR}")
    stack.until(lambda: stack.count("author"))
    cancel(stack.store, stack.world, LOCAL, attempt.id, "it is not needed any more")
    killed_at(worker)

    stack.build()

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, stack.count("author")) == ("canceled", 1)
    assert seen.chain == ["started under fence 1", "closed under fence 1"]


@pytest.mark.contract("Q08", "L9")
@pytest.mark.parametrize("is_admitted", [True, False], ids=["admitted", "not yet admitted"])
def test_work_is_canceled_without_any_worker(
    stack: Stack, waiting: str, *, is_admitted: bool
) -> None:
    """Nobody ever claimed it, so the control plane ends it alone, by the same road."""
    attempt = stack.dispatch(waiting)
    seen = stack.seen(attempt)
    if is_admitted:
        stack.start_dispatcher()
        stack.until(lambda: seen.kinds)

    cancel(stack.store, stack.world, LOCAL, attempt.id, "it is not needed any more")
    if not is_admitted:
        stack.start_dispatcher()

    stack.until(lambda: seen.is_over, 15)
    assert (seen.outcome, seen.column) == ("canceled", Column.READY)
    assert stack.count("author") == 0


@pytest.mark.contract("Q08")
@pytest.mark.parametrize(
    ("at", "starts", "chains"),
    [
        pytest.param(at, starts, chains, marks=[] if is_common else pytest.mark.long, id=at)
        for at, starts, chains, is_common in [
            (Moment.CLAIMED, 0, [("closed under fence 1",)], False),
            (Moment.BOUND, 0, [("closed under fence 1",)], False),
            (Moment.MARKED, 0, [CLOSED], True),
            (Moment.STARTED, 1, [CLOSED, RESULT], True),
            (Moment.SPAWNED, 1, [CLOSED, RESULT], False),
            (Moment.EXITED, 1, [CLOSED, RESULT], False),
            (Moment.CHECKED, 1, [CLOSED, RESULT], True),
            (Moment.COMMITTED, 1, [CLOSED, RESULT], False),
            (Moment.PUSHED, 1, [RESULT], True),
            (Moment.RECORDED, 1, [RESULT], False),
        ]
    ],
)
def test_a_cancel_at_any_moment_makes_one_end(
    stack: Stack, work: tuple[str, str], at: Moment, starts: int, chains: list[tuple[str, ...]]
) -> None:
    """The worker stands still there while it is asked for; afterwards every copy says the same."""
    seen = canceled_at(stack, work, f"{at} {AUTHOR}")

    assert (seen.starts(), tuple(seen.chain) in chains) == (starts, True)
    assert stack.count("author") <= starts
    assert seen.outcome == "canceled"
    is_published = seen.chain[-1].startswith("result")
    assert (bool(seen.head), seen.requests) == (is_published, [])
    assert seen.steps["author"] == ("succeeded" if is_published else "canceled")
    assert seen.observation() == seen.published if is_published else True
    left_nothing(stack, seen)


@pytest.mark.contract("Q08")
@pytest.mark.parametrize(
    "at", [Moment.CLAIMED, pytest.param(Moment.OPENED, marks=pytest.mark.long)]
)
def test_a_cancel_while_the_request_is_opened_makes_one_end(
    stack: Stack, work: tuple[str, str], at: Moment
) -> None:
    """Before the call none is opened; after the answer the one that is there is recorded."""
    seen = canceled_at(stack, work, f"{at} {REQUEST}")

    opened = 0 if at is Moment.CLAIMED else 1
    assert (seen.outcome, len(seen.requests)) == ("canceled", opened), seen.steps
    assert tuple(seen.chain) == RESULT
    left_nothing(stack, seen)


@pytest.mark.contract("Q08", "E06")
def test_a_check_is_canceled_with_what_it_started(stack: Stack, waiting: str) -> None:
    """The cancel reaches whatever runs of an attempt at that moment."""
    check = f"{stack.counted('check')}; trap '' TERM; setsid sleep 600 & sleep 600"
    (stack.outside / "go").touch()
    seen = stack.seen(stack.dispatch(waiting, check))
    stack.build()
    stack.until(lambda: stack.count("check"))

    cancel(stack.store, stack.world, LOCAL, seen.attempt.id, WHY)

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, tuple(seen.chain), seen.requests) == ("canceled", CLOSED, [])
    left_nothing(stack, seen)


@pytest.mark.contract("Q08", "E06")
def test_a_cancel_reaches_a_run_that_froze_its_supervisor(stack: Stack) -> None:
    """Who does not answer is killed, with all that it should have ended."""
    stack.settings = LONG_LEASE
    freeze = f"{stack.counted('author')}; kill -STOP $PPID; sleep 600"

    ends_canceled(stack, freeze, lambda seen, worker: stack.count("author") and frozen(seen))

    assert stack.roles[-1].is_alive


@pytest.mark.contract("E06", "Q08")
def test_what_closes_an_attempt_ends_what_an_earlier_run_left(stack: Stack) -> None:
    """Its worker is killed, and neither its supervisor nor its guard can act."""
    freeze = (
        f"{stack.counted('author')}; kill -STOP $(ps -o ppid= -p $PPID); kill -STOP $PPID; "
        "sleep 600"
    )
    seen = stack.seen(stack.dispatch(freeze))
    stack.start_dispatcher()
    worker = stack.start_worker()
    stack.until(lambda: stack.count("author") and frozen(seen))
    worker.kill()
    cancel(stack.store, stack.world, LOCAL, seen.attempt.id, WHY)

    stack.start_worker()

    stack.until(lambda: seen.is_over, 30)
    assert seen.outcome == "canceled"
    left_nothing(stack, seen)
    assert alive(OPERATION, seen.request.operation) == []


def frozen(seen: Seen) -> list[int]:
    """The processes of the run that stand still."""
    return [pid for pid in alive(OPERATION, seen.request.operation) if state_of(pid) == "T"]


@pytest.fixture
def holding(stack: Stack) -> str:
    """A command that leaves a tree whose reader waits for ever."""
    beyond = stack.outside / "beyond"
    for folder in (beyond / "objects", beyond / "refs"):
        folder.mkdir(parents=True)
    os.mkfifo(beyond / "HEAD")
    nested = f"mkdir nested; echo 'gitdir: {beyond}' > nested/.git"
    return f"{stack.counted('author')}; {nested}; echo 'y = 2' >> a.py"


@pytest.mark.contract("Q08", "E06")
def test_a_cancel_reaches_a_worker_that_looks_at_what_was_left(stack: Stack, holding: str) -> None:
    """It does not wait for git, which would take five minutes."""
    ends_canceled(stack, holding, lambda _, worker: worker.says(Moment.EXITED) and looking(stack))


@pytest.mark.contract("E06")
def test_a_killed_worker_takes_its_looks_along(stack: Stack, holding: str) -> None:
    """No process of its is left, and whoever comes next is held by none."""
    seen = stack.seen(stack.dispatch(holding))
    stack.start_dispatcher()
    worker = stack.start_worker()
    stack.until(lambda: worker.says(Moment.EXITED) and looking(stack))

    worker.kill()

    stack.until(lambda: not looking(stack))
    alive = {one.process.pid for one in stack.roles if one.is_alive}
    stack.until(lambda: set(naming(stack.home)) <= alive)
    assert seen.outcome is None


def looking(stack: Stack) -> list[int]:
    """The processes of this stack that are no roles."""
    return sorted(set(naming(stack.home)) - {one.process.pid for one in stack.roles})


@pytest.mark.contract("Q08", "Q06")
def test_a_cancel_reaches_a_worker_that_drains(stack: Stack, waiting: str) -> None:
    """What it still runs is ended and closed; it waits for no grace."""
    seen = stack.seen(stack.dispatch(waiting))
    stack.start_dispatcher()
    worker = stack.start_worker(more=["--grace", "600"])
    stack.until(lambda: stack.count("author"))
    worker.process.terminate()
    stack.until(lambda: worker.says("worker.draining"))

    cancel(stack.store, stack.world, LOCAL, seen.attempt.id, WHY)

    assert worker.process.wait(60) == 0
    stack.until(lambda: seen.is_over)
    assert (seen.outcome, tuple(seen.chain), seen.requests) == ("canceled", CLOSED, [])
    left_nothing(stack, seen)


@pytest.mark.contract("Q08")
def test_what_nobody_runs_any_more_is_canceled_by_whoever_comes(stack: Stack, waiting: str) -> None:
    """By the command, with no worker listening after one died in mid-run: the next only closes."""
    seen = stack.seen(stack.dispatch(waiting))
    stack.build()
    stack.until(lambda: stack.count("author"))
    stack.roles[-1].kill()

    fencepost = Path(sys.executable).with_name("fencepost")
    done = subprocess.run(
        [fencepost, "attempts", "cancel", seen.attempt.id, "--reason", WHY],
        env=dict(stack.environment(stack.database.app_url)), cwd=stack.home,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stack.start_worker()

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, seen.starts(), stack.count("author")) == ("canceled", 1, 1)
    assert seen.chain[0] == "started under fence 1"
    assert seen.chain[1].startswith("closed under fence")
    left_nothing(stack, seen)


def canceled_at(stack: Stack, work: tuple[str, str], moment: str) -> Seen:
    """An attempt that is over, and was canceled while its worker stood still at a moment."""
    stack.settings = LONG_LEASE
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    worker = stack.start_worker(moment)
    stack.until(lambda: worker.is_stopped)

    cancel(stack.store, stack.world, LOCAL, seen.attempt.id, WHY)
    worker.go_on()

    stack.until(lambda: seen.is_over)
    return seen


def ends_canceled(stack: Stack, command: str, is_time: Callable[[Seen, Role], object]) -> None:
    """Dispatch a command, and cancel it at a time of its run; it is closed, and nothing is left."""
    seen = stack.seen(stack.dispatch(command))
    stack.start_dispatcher()
    worker = stack.start_worker()
    stack.until(lambda: is_time(seen, worker))

    cancel(stack.store, stack.world, LOCAL, seen.attempt.id, WHY)

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, tuple(seen.chain), seen.requests) == ("canceled", CLOSED, [])
    left_nothing(stack, seen)


def left_nothing(stack: Stack, seen: Seen) -> None:
    """No claim, no checkout and no process but the roles is left of the attempt."""
    assert seen.open_claims() == 0
    stack.until(lambda: not list((stack.home / "checkouts").glob("*")))
    alive = {one.process.pid for one in stack.roles if one.is_alive}
    stack.until(lambda: set(naming(stack.home)) <= alive)
