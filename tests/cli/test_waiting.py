"""What waits says why, wherever it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.stack import a_repository
from fixtures.waiting import until

from app.repository.git import git


@pytest.mark.contract("O08")
def test_whoever_waits_for_a_merge_is_told_so(up: Fencepost, tmp_path: Path) -> None:
    """`attempts show`, `explain` and `logs` name bound and request; a merge ends the wait."""
    source = a_repository(tmp_path / "serial", {"a.py": "x = 1\n"})
    first, second = (
        up("run", "--repo", str(source), "--serial", "--detach", "--json",
           "--", "sh", "-c", f"echo {word} > {word}.py").value["attempt"]
        for word in ("one", "two")
    )  # fmt: skip
    until(lambda: up("attempts", "show", first, "--json").value["outcome"] == "done", 60)

    (wait,) = up("attempts", "show", second, "--json").value["waits"]
    assert (wait["step"], wait["bound"], wait["base"]) == ("author", "merge", "main")
    number = wait["writers"][0]["request"]
    for told in (up("attempts", "show", second).out, up("explain", second).out):
        assert f"step author waits: base main takes one writer at once: request #{number}" in told
    assert "waits for a place: merge" in up("logs", second).out

    up("pull-requests", "merge", f"serial:{number}")

    until(lambda: up("attempts", "show", second, "--json").value["outcome"] == "done", 60)
    done, merged = (
        up("attempts", "show", second, "--json").value,
        up("pull-requests", "show", f"serial:{number}", "--json").value,
    )
    mirror = done["pull_request"]["url"].partition("#")[0]
    parents = git("rev-parse", f"{done['commit']}^@", git_dir=Path(mirror))
    assert parents == merged["merged_sha"]


@pytest.mark.contract("Q02")
def test_whoever_waits_for_a_queue_is_told_so(up: Fencepost, tmp_path: Path) -> None:
    """A paused queue is named with who paused it and why, and resuming it ends the wait."""
    source = a_repository(tmp_path / "paused", {"a.py": "x = 1\n"})
    up("queues", "pause", "missions.author", "--reason", "the mirror is moved")
    try:
        attempt = up(
            "run", "--repo", str(source), "--detach", "--json", "--", "sh", "-c", "echo 1 > b.py"
        ).value["attempt"]
        words = "step author waits: its queue is paused (by local: the mirror is moved)"
        until(lambda: words in up("attempts", "show", attempt).out, 30)
        assert words in up("explain", attempt).out
    finally:
        up("queues", "resume", "missions.author", "--reason", "it was moved")

    until(lambda: up("attempts", "show", attempt, "--json").value["outcome"] == "done", 60)
