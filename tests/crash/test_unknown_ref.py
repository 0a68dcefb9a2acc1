"""An operation ref that is gone: only a person can say that nothing came of what was started."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.deciding import decide
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.domain.decision import Decision
from app.domain.operation import ref_of
from app.events import Moment
from app.kinds import author
from app.repository.git import git

Published = Callable[[Seen], None]
AUTHOR = f"kind={author.NAME}"


@pytest.fixture
def gone(stack: Stack, work: tuple[str, str]) -> tuple[Seen, Role]:
    """A worker is frozen with a finished run in hand, somebody deletes its ref, and it is held."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    frozen = stack.start_worker(f"{Moment.COMMITTED} {AUTHOR}")
    stack.until(lambda: frozen.is_stopped)
    git("update-ref", "-d", ref_of(seen.request.operation), git_dir=seen.mirror.git_dir)
    stack.start_worker()
    stack.until(lambda: seen.unknown(author.NAME))
    return seen, frozen


@pytest.mark.contract("M06", "L4", "A08")
def test_attested_absence_is_guarded_before_anything_starts_anew(
    stack: Stack, gone: tuple[Seen, Role], published_once: Published
) -> None:
    """The guard stands where the ref was; what the frozen worker pushes fails at it."""
    seen, frozen = gone
    assert seen.unknown(author.NAME) == "operation_ref_missing"
    assert stack.count("author") == 1

    decide(stack, seen, Decision.ATTEST_ABSENCE, kind=author.NAME)
    stack.until(lambda: seen.is_over)
    chain = seen.chain
    frozen.go_on()

    stack.until(lambda: frozen.says("claim.lost"))
    published_once(seen)
    fence = seen.fence()
    assert chain == seen.chain == [f"guarded under fence {fence}", f"result under fence {fence}"]
    assert (stack.count("author"), stack.count("check")) == (2, 2)


@pytest.mark.contract("L9", "L4")
def test_abandoned_start_is_closed_where_its_ref_was(stack: Stack, gone: tuple[Seen, Role]) -> None:
    """Nothing is published, not even by the worker that was frozen with its result."""
    seen, frozen = gone

    decide(stack, seen, Decision.ABANDON, kind=author.NAME)
    stack.until(lambda: seen.is_over)
    frozen.go_on()

    stack.until(lambda: frozen.says("claim.lost"))
    assert (seen.outcome, seen.head, seen.requests) == ("abandoned", "", [])
    assert seen.chain == [f"closed under fence {seen.fence()}"]
    assert stack.count("author") == 1


@pytest.mark.contract("M06")
def test_without_a_persons_word_the_work_stays_unknown(
    stack: Stack, gone: tuple[Seen, Role]
) -> None:
    """To look again allows no start: the ref is still missing."""
    seen, _ = gone
    first = seen.fence()

    decide(stack, seen, Decision.LOOK_AGAIN, kind=author.NAME)

    stack.until(lambda: seen.fence() > first and seen.unknown(author.NAME))
    assert seen.unknown(author.NAME) == "operation_ref_missing"
    assert (seen.starts(), stack.count("author")) == (1, 1)


@pytest.mark.contract("G01", "L9")
@pytest.mark.parametrize(
    "decision", [Decision.ABANDON, pytest.param(Decision.LOOK_AGAIN, marks=pytest.mark.long)]
)
def test_branch_in_the_way_is_left_or_removed_by_hand(
    stack: Stack, work: tuple[str, str], decision: Decision
) -> None:
    """Given up over it, the operation is closed and the branch stays; removed, the work goes on."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    stack.until(lambda: seen.kinds)
    branch, where = f"refs/heads/{seen.request.branch}", seen.mirror.git_dir
    git("update-ref", branch, seen.request.base, "", git_dir=where)
    stack.start_worker()
    stack.until(lambda: seen.unknown(author.NAME) == "branch_clash")

    if decision is Decision.LOOK_AGAIN:
        git("update-ref", "-d", branch, git_dir=where)
    decide(stack, seen, decision, kind=author.NAME)

    stack.until(lambda: seen.is_over)
    if decision is Decision.LOOK_AGAIN:
        assert (seen.outcome, len(seen.requests)) == ("done", 1)
    else:
        assert (seen.outcome, stack.count("author")) == ("abandoned", 0)
        assert (seen.head, len(seen.chain)) == (seen.request.base, 1)
