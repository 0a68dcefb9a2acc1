"""A budget at the command line: what is used up is refused, and the card says what was tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.stack import a_repository
from fixtures.waiting import until

ORDER = """\
title: Never works
repository: bounded
base: main
command: echo 'error in line 3' && exit 1
budget: {attempts: 1, cost: 2}
"""


@pytest.mark.contract("T11", "L8")
def test_a_used_up_budget_is_a_persons_question(up: Fencepost, tmp_path: Path) -> None:
    """The retry is refused with its code; `tasks show` and `explain` say what was tried."""
    a_repository(tmp_path / "bounded", {"a.py": "x = 1\n"})
    file = tmp_path / "order.yaml"
    file.write_text(ORDER)
    created = up("work-orders", "create", str(file), "--json").value
    order, task = created["id"], created["tasks"][0]["id"]
    up("work-orders", "submit", order)
    up("work-orders", "approve", order)
    attempt = up("work-orders", "dispatch", order, "--json").value["attempt"]
    until(lambda: up("attempts", "show", attempt, "--json").value["outcome"] == "failed", 60)

    again = up("tasks", "retry", task, "--reason", "it may work this time")

    assert (again.code, "(budget_exhausted)" in again.err) == (2, True), again.err
    assert f"tried: {attempt} failed" in again.err
    for told in (up("tasks", "show", task).out, up("explain", attempt).out):
        assert "the budget is used up: attempts (1 of 1)" in told
        assert f"tried {attempt}, failed: author: command_failed: sh: exit 1" in told
        assert f"work-orders revise {order} FILE" in told
        assert "cost is bounded, and no attempt so far reports it" in told
    seen = up("tasks", "show", task, "--json").value["budget"]
    assert seen["used_up"] == ["attempts (1 of 1)"]
