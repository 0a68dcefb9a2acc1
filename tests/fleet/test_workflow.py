"""A graph of five steps with a gate, over a real repository, by real processes."""

from __future__ import annotations

import pytest
from fixtures.role import naming
from fixtures.stack import Stack
from fixtures.world import Attempt

from app.domain.board import Column
from app.domain.digest import Json
from app.domain.errors import NoOpenGate
from app.store import attempts
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from app.transitions.decide import decide
from app.transitions.dispatch import dispatch
from app.transitions.pause import pause, resume
from app.transitions.retry import retry

RISK: dict[str, Json] = {
    "type": "object",
    "properties": {"risk": {"type": "integer"}},
    "required": ["risk"],
}


def diamond(stack: Stack) -> dict[str, Json]:
    """Author, two judges at once, a person where it is risky, the request."""
    fixed = stack.outside / "fixed"

    def step(name: str, kind: str, shell: str, **more: Json) -> dict[str, Json]:
        return {"name": name, "kind": kind, "command": ["sh", "-c", shell], **more}

    return {
        "v": 1,
        "concurrency": 2,
        "steps": [
            step("write", "author", f"{stack.counted('write')}; echo y >> a.py"),
            step("lint", "command", f"test -e {fixed} && grep -q y a.py", needs=["write"]),
            step(
                "judge", "command", """echo '{"risk": 7}' > $FENCEPOST_OUTPUTS""",
                needs=["write"], outputs=RISK,
            ),
            {
                "name": "ask", "kind": "gate", "needs": ["lint", "judge"],
                "when": "steps.judge.outputs.risk > `3`",
            },
            {"name": "propose", "kind": "pull_request", "needs": ["ask"]},
        ],
    }  # fmt: skip


def states(stack: Stack, attempt: Attempt) -> dict[str, str]:
    """How far each step has come."""
    with stack.store.begin() as tx:
        return {row.name: row.state for row in attempts.step_rows(tx, attempt.world, attempt.id)}


@pytest.mark.contract("O02", "O03", "O05", "O12", "T03", "T04")
def test_a_graph_fails_is_retried_waits_for_a_person_and_is_done(stack: Stack) -> None:
    """The first failure stays; the second attempt waits without a worker, across restarts."""
    task, base = stack.ready("unused", workflow=diamond(stack))
    first = Attempt(stack.world, task, dispatch(stack.store, stack.world, LOCAL, task, base))
    stack.build()
    stack.until(lambda: stack.seen(first).outcome)
    assert states(stack, first) == {
        "write": "succeeded", "lint": "failed", "judge": "succeeded",
        "ask": "blocked", "propose": "blocked",
    }  # fmt: skip

    (stack.outside / "fixed").touch()
    again = retry(stack.store, stack.world, LOCAL, task, base, "the linter was mended")
    second = Attempt(stack.world, task, again)
    seen = stack.seen(second)
    stack.until(lambda: states(stack, second)["ask"] == "dispatched")
    stack.throw_away()
    stack.until(lambda: not naming(stack.home))
    assert seen.open_claims() == 0

    stack.build()
    decide(stack.store, stack.world, LOCAL, second.id, "ask", "it is worth it", approved=True)
    stack.until(lambda: seen.is_over)

    assert (seen.outcome, stack.seen(first).outcome) == ("done", "failed")
    assert (seen.column, len(seen.requests)) == (Column.REVIEW, 1)
    assert stack.count("write") == 2
    with pytest.raises(NoOpenGate):
        decide(stack.store, stack.world, LOCAL, second.id, "ask", "again", approved=False)


@pytest.mark.contract("O12", "Q08")
def test_a_rejected_gate_fails_and_a_canceled_one_ends_the_attempt(stack: Stack) -> None:
    """Nothing is proposed either way, and nobody has to be running for it."""
    (stack.outside / "fixed").touch()
    ends = []
    stack.build()
    for name in ("rejected", "canceled"):
        task, base = stack.ready("unused", workflow=diamond(stack))
        one = Attempt(stack.world, task, dispatch(stack.store, stack.world, LOCAL, task, base))
        stack.until(lambda one=one: states(stack, one)["ask"] == "dispatched")
        if name == "rejected":
            decide(stack.store, stack.world, LOCAL, one.id, "ask", "too risky", approved=False)
        else:
            cancel(stack.store, stack.world, LOCAL, one.id, "no longer wanted")
        ends.append((stack.seen(one).outcome, stack.seen(one).requests))

    assert ends == [("failed", []), ("canceled", [])]


@pytest.mark.contract("O12")
def test_a_paused_attempt_starts_no_further_step_until_it_is_resumed(stack: Stack) -> None:
    """What runs goes on to its end; pause and resume are in the receipts."""
    (stack.outside / "fixed").touch()
    task, base = stack.ready("unused", workflow=diamond(stack))
    one = Attempt(stack.world, task, dispatch(stack.store, stack.world, LOCAL, task, base))
    pause(stack.store, stack.world, LOCAL, one.id, "the office is closed")
    stack.build()
    stack.until(lambda: states(stack, one)["write"] == "succeeded")
    assert states(stack, one)["lint"] == "pending"

    resume(stack.store, stack.world, LOCAL, one.id, "it is open again")

    stack.until(lambda: states(stack, one)["ask"] == "dispatched")


@pytest.mark.contract("O06", "O12")
def test_a_killed_dispatcher_is_replaced_by_two_in_the_middle_of_everything(stack: Stack) -> None:
    """Three graphs under way, two at once, one of those killed too: each step ran once."""
    (stack.outside / "fixed").touch()
    attempts = []
    for _ in range(3):
        task, base = stack.ready("unused", workflow=diamond(stack))
        new = dispatch(stack.store, stack.world, LOCAL, task, base)
        attempts.append(Attempt(stack.world, task, new))
    alone = stack.start_dispatcher()
    stack.start_worker()
    stack.until(lambda: stack.count("write") >= 1)

    alone.kill()
    others = [stack.start_dispatcher(), stack.start_dispatcher()]
    stack.until(lambda: all(states(stack, one)["ask"] == "dispatched" for one in attempts))
    for one in attempts:
        decide(stack.store, stack.world, LOCAL, one.id, "ask", "it is fine", approved=True)
    others[0].kill()

    stack.until(lambda: all(stack.seen(one).outcome == "done" for one in attempts))
    assert stack.count("write") == 3
    assert len(stack.seen(attempts[0]).requests) == 3  # of the repository that they share
