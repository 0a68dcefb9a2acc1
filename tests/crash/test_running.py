"""A worker that dies, freezes or is told to stop while its program runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.role import Role, naming
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.domain.board import Column
from app.events import Moment
from app.kinds import author
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
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
    (supervisor,) = children_of(worker.process.pid)

    worker.stop()
    os.kill(supervisor, signal.SIGKILL)
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


@pytest.mark.contract("M12", "L2", "L4")
@pytest.mark.parametrize(
    ("moment", "runs"),
    [
        pytest.param(Moment.COMMITTED, 2),
        pytest.param(Moment.PUSHED, 1, marks=pytest.mark.long),
        pytest.param(Moment.MARKED, 1, marks=pytest.mark.long),
    ],
)
def test_a_zombie_that_returns_after_its_successor_changes_nothing(
    stack: Stack, work: tuple[str, str], published_once: Published, moment: Moment, runs: int
) -> None:
    """Frozen past its lease, then woken: its push and its rows are refused, and it says so."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    zombie = stack.start_worker(f"{moment} {AUTHOR}")
    stack.until(lambda: zombie.is_stopped and (stack.count("author") or runs == 1))
    stack.start_worker()
    stack.until(lambda: seen.is_over)
    chain, rows = seen.chain, rows_of(stack, seen, fence=1)

    zombie.go_on()

    stack.until(lambda: zombie.says(f"claim.lost {facts_of(seen)} fence=1"))
    published_once(seen)
    assert (seen.chain, rows_of(stack, seen, fence=1)) == (chain, rows)
    assert stack.count("author") == runs


@pytest.mark.contract("M12", "E06")
def test_a_successor_ends_the_program_of_a_frozen_worker_before_its_own(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """One program at a time; the zombie that returns in mid-run publishes nothing."""
    seen = stack.seen(stack.dispatch(waiting))
    stack.start_dispatcher()
    zombie = stack.start_worker()
    stack.until(lambda: stack.count("author") == 1)

    zombie.stop()
    stack.start_worker()
    stack.until(lambda: stack.count("author") == 2)
    assert carrying({"FENCEPOST_FENCE": "1", "FENCEPOST_ATTEMPT": seen.attempt.id}) == []
    zombie.go_on()
    stack.until(lambda: zombie.says(f"claim.lost {facts_of(seen)} fence=1"))
    (stack.outside / "go").touch()

    published_once(seen)
    assert stack.count("author") == 2
    assert seen.chain[1:] == ["guarded under fence 2", "result under fence 2"]


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


@pytest.mark.long
@pytest.mark.contract("Q09")
def test_a_program_that_kills_its_worker_again_and_again_becomes_a_dead_letter(
    stack: Stack,
) -> None:
    """Five starts, then one claim that only closes; the attempt is dead, and a letter says so."""
    poison = f"{stack.counted('author')}; kill -9 $(ps -o ppid= -p $PPID); sleep 60"
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


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def rows_of(stack: Stack, seen: Seen, fence: int) -> list[object]:
    """Everything that a claim has written, and how it stands."""
    key = (stack.world, seen.key().kind, seen.key().activity, fence)
    with stack.database.as_superuser() as session:
        return [
            session.execute(
                f"select t.* from fencepost.{table} t"
                " where (world_id, kind, activity_id, fence) = (%s, %s, %s, %s)",
                key,
            ).fetchall()
            for table in ("claims", "bindings", "starts", "events", "payloads", "results")
        ]


def facts_of(seen: Seen) -> str:
    key = seen.key()
    return f"world={key.world} kind={key.kind} activity={key.activity}"
