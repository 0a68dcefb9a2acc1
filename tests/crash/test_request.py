"""A worker that dies around the one call that opens a request; a head that moves meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.events import Moment
from app.kinds import author, pull_request
from app.repository.git import git

Killed = Callable[[Role], None]
REQUEST = pull_request.NAME


@pytest.mark.contract("G02", "L4")
def test_a_call_without_an_answer_is_never_followed_by_another(
    stack: Stack, work: tuple[str, str], killed_at: Killed
) -> None:
    """Killed between the call's row and the call: looked for, then held for a person."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    killed_at(stack.start_worker(f"{Moment.CALLED} kind={REQUEST}"))

    stack.build()

    stack.until(lambda: seen.unknown(REQUEST))
    assert (seen.unknown(REQUEST), seen.requests) == ("unresolved_call", [])
    assert (seen.outcome, seen.steps["author"], stack.count("author")) == (None, "succeeded", 1)


@pytest.mark.contract("M07", "G02", "O10")
def test_a_result_is_recovered_byte_for_byte_though_its_branch_moved_on(
    stack: Stack, work: tuple[str, str], killed_at: Killed
) -> None:
    """The first observation counts, nothing runs again, and nobody vouches for what came after."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    killed_at(stack.start_worker(f"{Moment.PUSHED} kind={author.NAME}"))
    published, first = seen.published, seen.head
    move_on(seen)

    stack.build()

    stack.until(lambda: seen.unknown(REQUEST))
    assert seen.observation() == published == seen.published
    assert first in published.decode()
    assert (stack.count("author"), stack.count("check")) == (1, 1)
    assert (seen.unknown(REQUEST), seen.observation(REQUEST)) == ("head_moved", None)


def move_on(seen: Seen) -> None:
    """Somebody pushes another commit to the candidate's branch."""
    where, parent = seen.mirror.git_dir, seen.head
    tree = git("rev-parse", f"{parent}^{{tree}}", git_dir=where)
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
    }
    commit = git("commit-tree", tree, "-p", parent, "-m", "More", git_dir=where, extra=who)
    git("update-ref", f"refs/heads/{seen.request.branch}", commit, parent, git_dir=where)
