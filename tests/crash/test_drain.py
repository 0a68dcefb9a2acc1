"""A worker that is told to end: what it finishes, what it hands back, and at what cost."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack
from sqlalchemy import select

from app.events import Moment
from app.kinds import author
from app.store.fencing import of_key
from app.store.schema import claims

Tell = Callable[[Role], None]

LONG_LEASE = {"FENCEPOST_LEASE": "120"}  #: so that nothing here comes from a lease that ran out


def tell_it(worker: Role) -> None:
    worker.process.terminate()


def tell_its_group(worker: Role) -> None:
    worker.tell_group()


def tell_all(worker: Role) -> None:
    """Tell every process that descends from the worker too, the youngest first."""
    everything = [*psutil.Process(worker.process.pid).children(recursive=True)]
    for one in reversed(everything):
        with contextlib.suppress(psutil.NoSuchProcess):  # ended by itself, or by another's end
            one.terminate()
    worker.process.terminate()


@pytest.mark.contract("Q06")
@pytest.mark.parametrize("tell", [tell_it, tell_its_group])
def test_what_runs_is_finished_within_the_grace(stack: Stack, waiting: str, tell: Tell) -> None:
    """TERM to the process or to its group: the run goes on to its record, then the worker ends."""
    stack.start_dispatcher()
    worker = stack.start_worker(more=["--grace", "60"])
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    tell(worker)
    stack.until(lambda: worker.says("worker.draining grace=60"))
    (stack.outside / "go").touch()

    assert worker.process.wait(30) == 0
    assert seen.observation() is not None
    assert (seen.open_claims(), stack.count("author")) == (0, 1)


@pytest.mark.contract("Q06", "E06")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_told_twice_it_hands_back_at_once(stack: Stack, waiting: str, number: int) -> None:
    """The second of any signal that asks for an end, to the group: the run's tree is gone."""
    stack.settings = LONG_LEASE
    stack.start_dispatcher()
    worker = stack.start_worker(more=["--grace", "600"])
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))
    tree = psutil.Process(worker.process.pid).children(recursive=True)

    worker.tell_group(number)
    stack.until(lambda: worker.says("worker.draining"))
    worker.tell_group(number)

    assert worker.process.wait(10) == 0
    assert tree
    assert not any(one.is_running() for one in tree)
    assert end_of(seen, 1) == ("released", "left to the next claim")


def test_a_worker_under_nohup_outlives_its_terminal(stack: Stack) -> None:
    """A signal that is ignored when it starts stays so: Celery would start itself anew."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        worker = stack.start_worker()
    finally:
        signal.signal(signal.SIGHUP, before)
    stack.start_dispatcher()
    first = stack.seen(stack.dispatch("echo 1 > b.py"))
    stack.until(lambda: first.outcome == "done")

    worker.tell_group(signal.SIGHUP)
    second = stack.seen(stack.dispatch("echo 2 > b.py"))

    stack.until(lambda: second.outcome == "done")
    assert not worker.says("Restarting")
    assert not worker.says("worker.draining")


@pytest.mark.contract("Q06")
def test_after_the_grace_another_worker_begins_it_at_once(stack: Stack, waiting: str) -> None:
    """What outlasts the grace is ended and released: nobody waits for its lease to run out."""
    stack.settings = LONG_LEASE | {"FENCEPOST_GRACE": "0.5"}
    stack.start_dispatcher()
    worker = stack.start_worker()
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))
    stack.settings = LONG_LEASE
    other = stack.start_worker()
    stack.until(lambda: other.says("role.started"))

    worker.process.terminate()

    assert worker.process.wait(10) == 0
    stack.until(lambda: stack.count("author") == 2)
    assert waited(seen) < timedelta(seconds=3)
    (stack.outside / "go").touch()
    stack.until(lambda: seen.is_over)
    assert (seen.outcome, seen.starts()) == ("done", 2)


@pytest.mark.contract("Q06")
@pytest.mark.parametrize("grace", ["60", "0"])
def test_a_host_that_ends_fails_no_attempt(stack: Stack, waiting: str, grace: str) -> None:
    """TERM to worker, supervisor and agent alike, as systemd sends it: the run is handed back."""
    stack.settings = LONG_LEASE
    stack.start_dispatcher()
    worker = stack.start_worker(more=["--grace", grace])
    seen = stack.seen(stack.dispatch(waiting))
    stack.until(lambda: stack.count("author"))

    tell_all(worker)

    assert worker.process.wait(15) == 0
    assert end_of(seen, 1) == ("released", "left to the next claim")
    (stack.outside / "go").touch()
    stack.start_worker()
    stack.until(lambda: seen.is_over)
    assert (seen.outcome, stack.count("author")) == ("done", 2)


@pytest.mark.contract("Q06", "Q09")
def test_what_was_not_begun_costs_no_start(stack: Stack, work: tuple[str, str]) -> None:
    """A claim that has not started when its worker is told to end is released: no start is lost."""
    stack.settings = LONG_LEASE
    stack.start_dispatcher()
    worker = stack.start_worker(f"{Moment.BOUND} kind={author.NAME}", more=["--grace", "60"])
    seen = stack.seen(stack.dispatch(*work))
    stack.until(lambda: worker.is_stopped)

    worker.process.terminate()
    worker.go_on()

    assert worker.process.wait(15) == 0
    assert (end_of(seen, 1), seen.starts()) == (("released", "left to the next claim"), 0)
    stack.start_worker()
    stack.until(lambda: seen.is_over)
    assert (seen.outcome, seen.starts(), stack.count("author")) == ("done", 1, 1)


@pytest.mark.contract("Q06")
def test_a_worker_that_has_not_begun_ends_at_the_first_word(stack: Stack) -> None:
    """TERM while it still starts: it ends, as process 1 of a container too."""
    worker = stack.start_worker()
    stack.until(lambda: hears_term(worker.process.pid))

    worker.process.terminate()

    assert worker.process.wait(15) == 0


def hears_term(pid: int) -> bool:
    """Whether the process has a handler of its own for SIGTERM."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))


def end_of(seen: Seen, fence: int) -> tuple[str | None, str | None]:
    """How the author's claim of a fence ended."""
    with seen.store.begin() as tx:
        row = tx.execute(
            select(claims.c.end_cause, claims.c.end_detail)
            .where(of_key(claims, seen.key()), claims.c.fence == fence)
        ).one()  # fmt: skip
    return row.end_cause, row.end_detail


def waited(seen: Seen) -> timedelta:
    """From the end of the author's first claim to its second."""
    with seen.store.begin() as tx:
        rows = tx.execute(
            select(claims.c.claimed_at, claims.c.ended)
            .where(of_key(claims, seen.key())).order_by(claims.c.fence)
        ).all()  # fmt: skip
    waited: timedelta = rows[1].claimed_at - rows[0].ended
    return waited
