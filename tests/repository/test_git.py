"""Git as this house runs it."""

from __future__ import annotations

import os

import pytest

from app.repository.git import git


@pytest.mark.contract("Q06")
def test_git_is_in_no_group_of_ours() -> None:
    """A signal to a worker's whole group ends no git in the middle of its work."""
    group = int(git("-c", "alias.group=!ps -o pgid= -p $$", "group"))

    assert group != os.getpgrp()
