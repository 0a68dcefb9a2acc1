"""A cancel reaches a running program, needs no worker, and survives one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.role import Role, naming
from fixtures.stack import Stack

from app.domain.board import Column
from app.events import Moment
from app.kinds import author
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

Killed = Callable[[Role], None]
AUTHOR = f"kind={author.NAME}"


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
