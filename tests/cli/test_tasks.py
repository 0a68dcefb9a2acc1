"""A task at the command line: a failure, its retry with a reason, and what is told of both."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.stack import a_repository
from fixtures.waiting import until

REASON = "the flag is there now"


@pytest.fixture
def failed(up: Fencepost, tmp_path: Path) -> tuple[str, str]:
    """The task and the attempt of a run that failed, and would not fail again."""
    flag = tmp_path / "flag"
    reader = a_repository(tmp_path / "retried", {"a.py": "x = 1\n"})
    said = up("run", "--json", "--", "sh", "-c", f"test -e {flag} && echo y = 2 >> a.py", at=reader)
    assert said.code == 1, said.err
    flag.touch()
    return str(said.lines[-1]["task"]), str(said.lines[-1]["attempt"])


@pytest.mark.contract("T03", "T04", "T07", "L8")
def test_a_failure_is_retried_with_a_reason(up: Fencepost, failed: tuple[str, str]) -> None:
    """Refused without one, and as a dispatch; then done, and the failure is still shown."""
    task, attempt = failed
    refusals = [
        up("attempts", "retry", attempt, "--reason", "again"),
        up("tasks", "dispatch", task),
        up("tasks", "move", task, "inbox", "--reason", "not now"),
    ]
    assert [(one.code, one.err.splitlines()[0].split()[-1]) for one in refusals] == [
        (2, "(no_recovery_reason)"), (2, "(prior_attempt)"), (2, "(illegal_move)"),
    ]  # fmt: skip

    again = up("tasks", "retry", task, "--reason", REASON, "--key", "k1", "--json").value["attempt"]
    assert up("tasks", "retry", task, "--reason", REASON, "--key", "k1").out.strip() == again
    until(lambda: up("attempts", "show", again, "--json").value["outcome"] != "active", 60)

    seen = up("tasks", "show", task, "--json").value
    first, second = seen["attempts"]
    assert (first["id"], first["number"], first["outcome"]) == (attempt, 1, "failed")
    assert (second["id"], second["number"], second["outcome"]) == (again, 2, "done")
    (told,) = [one for one in seen["history"] if one["verb"] == "retry"]
    assert (told["actor"], told["reason"], told["key"]) == ("local", REASON, "k1")
    assert (told["before"], told["after"]) == ("in_progress", "in_progress")
    assert seen["column"] == "review"
    assert f"because: {REASON}" in up("tasks", "show", task).out


@pytest.mark.contract("T01", "T02")
def test_a_canonical_child_takes_its_parents_place(up: Fencepost, failed: tuple[str, str]) -> None:
    """The child of a failed task is dispatched on its own; the parent names it."""
    task, _ = failed

    child = up("tasks", "add-child", task[:8], "--canonical", "--json").value["task"]
    parent = up("tasks", "retry", task, "--reason", REASON)
    early = up("tasks", "dispatch", child)
    moved = up("tasks", "move", child, "ready", "--reason", "it may run")
    begun = up("tasks", "dispatch", child)

    assert (parent.code, "(not_canonical_child)" in parent.err, child in parent.err) == (
        2, True, True,
    )  # fmt: skip
    assert (early.code, "(task_in_inbox)" in early.err) == (2, True)
    assert (moved.code, begun.code) == (0, 0)
    attempt = begun.out.strip()
    until(lambda: up("attempts", "show", attempt, "--json").value["outcome"] == "done", 60)
    assert f"canonical child {child}" in up("tasks", "show", task).out
