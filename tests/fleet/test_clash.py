"""A branch of the candidate's name that appears while the work is under way."""

from __future__ import annotations

import pytest
from fixtures.stack import Stack

from app.repository.git import git


@pytest.mark.contract("G01", "L4", "L9")
def test_a_branch_made_in_mid_run_ends_the_work_and_is_left_alone(stack: Stack) -> None:
    """The result is published alone, as a failure; nothing overwrites what somebody else made."""
    ready = stack.outside / "ready"
    shell = f"echo y >> a.py; touch {ready}; while [ ! -e {ready}.go ]; do sleep 0.05; done"
    seen = stack.seen(stack.dispatch(shell))
    stack.build()
    stack.until(ready.exists)

    git("update-ref", f"refs/heads/{seen.request.branch}", "main", git_dir=seen.mirror.git_dir)
    (stack.outside / "ready.go").touch()
    stack.until(lambda: seen.outcome)

    assert seen.outcome == "failed"
    assert seen.chain == ["started under fence 1", "result under fence 1"]
    assert seen.requests == []
    assert seen.head == git("rev-parse", "main", git_dir=seen.mirror.git_dir)
