"""Git as this house runs it."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fixtures.role import state_of
from fixtures.waiting import until

from app.repository.git import GitTooSlow, Interrupted, attempt, git


def lasting(folder: Path) -> tuple[str, ...]:
    """A git that runs a helper for ever, which says its own pid."""
    script = f"!echo $$ > {folder}/pid; mv {folder}/pid {folder}/there; exec sleep 600"
    return "-c", f"alias.lasting={script}", "lasting"


def runs(folder: Path) -> bool:
    """Whether the helper lives."""
    return state_of(int((folder / "there").read_text())) not in ("", "Z")


@pytest.mark.contract("Q06")
def test_git_is_in_no_group_of_ours() -> None:
    """A signal to a worker's whole group ends no git in the middle of its work."""
    group = int(git("-c", "alias.group=!ps -o pgid= -p $$", "group"))

    assert group != os.getpgrp()


@pytest.mark.contract("E06", "Q08")
def test_an_answer_that_nobody_wants_any_more_ends_git_and_its_helpers(tmp_path: Path) -> None:
    """At once, and whoever asks with the wish already there starts nothing."""
    stop = threading.Event()
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(attempt, *lasting(tmp_path), stop=stop)
        until((tmp_path / "there").exists)

        stop.set()

        assert isinstance(asked.exception(10), Interrupted)
    until(lambda: not runs(tmp_path))
    (tmp_path / "there").unlink()
    with pytest.raises(Interrupted):
        attempt(*lasting(tmp_path), stop=stop)
    assert not (tmp_path / "there").exists()


@pytest.mark.contract("E06")
def test_a_git_that_takes_too_long_is_ended_with_its_helpers(tmp_path: Path) -> None:
    """The time-out says which command it was."""
    with pytest.raises(GitTooSlow, match=r"git -c did not end within 1 s"):
        attempt(*lasting(tmp_path), timeout=1)

    until(lambda: not runs(tmp_path))


def test_a_complaint_is_what_git_failed_of(tmp_path: Path) -> None:
    """Its advice comes last and tells nothing of it."""
    done = attempt("ls-remote", f"{tmp_path}/nowhere")

    assert done.complaint == f"fatal: '{tmp_path}/nowhere' does not appear to be a git repository"


def test_what_git_is_told_and_says_is_whole_whenever_it_is_looked_at() -> None:
    """More than a pipe holds goes in and comes out, over several looks at the wish to stop."""
    content = os.urandom(1 << 20)
    slow = "!sleep 0.3; cat; sleep 0.3; echo done >&2"

    done = attempt("-c", f"alias.slow={slow}", "slow", stdin=content, stop=threading.Event())

    assert (done.out == content, done.err, done.code) == (True, b"done\n", 0)
