"""A work order whose budget is used up has no further attempt: a person reads what was tried."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fixtures.board import attempts_of, refused
from fixtures.bounds import a_bounded_attempt
from fixtures.database import Database
from fixtures.road import carry_out
from fixtures.world import BASE, Attempt, a_claim, activity_of, catch_up

from app.domain import errors
from app.domain.board import Column
from app.domain.digest import Json, canonical
from app.domain.recovery import Stop
from app.domain.result import Observation, Outcome
from app.domain.work_order import Budget, Specification
from app.store import activities
from app.store.deliveries import Cause
from app.store.engine import Store
from app.store.views.task import task_seen
from app.transitions.add_child import add_child
from app.transitions.approve import approve
from app.transitions.change import LOCAL
from app.transitions.deliver import deliver
from app.transitions.dispatch import dispatch
from app.transitions.move import move
from app.transitions.retry import retry
from app.transitions.revise import revise
from app.transitions.submit import submit

REASON = "the mirror is warm now"


@pytest.mark.contract("T11", "T03", "L8")
def test_attempts_end_with_the_budget(control: Store, worker: Store) -> None:
    """The refusal says which dimension, and names every attempt and how it failed."""
    first = a_bounded_attempt(control, budget=Budget(attempts=2))
    fail(control, worker, first, "no module named x")
    second = again(control, first)
    fail(control, worker, second, "no module named y")

    with refused(control, first.world, errors.BudgetExhausted, "budget_exhausted") as refusal:
        again(control, second)

    words = refusal.value.message
    assert "attempts (2 of 2)" in words
    for attempt in (first, second):
        assert f"{attempt.id} failed (author: command_failed: true: exit 1)" in words
    assert len(attempts_of(control, first.task)) == 2


@pytest.mark.contract("T11")
def test_the_same_failure_again_is_not_tried_a_third_time(control: Store, worker: Store) -> None:
    """Numbers and paths that differ do not hide that it is the same one."""
    first = a_bounded_attempt(control, budget=Budget(repeated_failures=2))
    fail(control, worker, first, "error: no module named x in /tmp/a1, line 3")
    second = again(control, first)
    fail(control, worker, second, "error: no module named y")
    third = again(control, second)
    fail(control, worker, third, "error: no module named x in /tmp/b22, line 41")

    with refused(control, first.world, errors.BudgetExhausted, "budget_exhausted") as refusal:
        again(control, third)

    assert "repeated_failures (command in step author, 2 times: error: no module named x in" in (
        refusal.value.message
    )


@pytest.mark.contract("T11")
def test_the_time_of_all_attempts_counts(control: Store, worker: Store, common: Database) -> None:
    """One second of budget is gone once the attempts took it."""
    first = a_bounded_attempt(control, budget=Budget(wall_time=timedelta(seconds=90)))
    fail(control, worker, first, "error: x")
    second = again(control, first)
    fail(control, worker, second, "error: y")
    began_earlier(common, first, timedelta(seconds=80))

    third = again(control, second)
    fail(control, worker, third, "error: z")
    began_earlier(common, third, timedelta(seconds=20))

    with refused(control, first.world, errors.BudgetExhausted, "budget_exhausted") as refusal:
        again(control, third)
    assert "wall_time" in refusal.value.message


@pytest.mark.contract("T11")
def test_a_child_is_bounded_by_the_same_budget(control: Store, worker: Store) -> None:
    """The budget is the work order's, whichever card is dispatched."""
    first = a_bounded_attempt(control, budget=Budget(attempts=1))
    fail(control, worker, first, "error: x")
    child = add_child(control, first.world, LOCAL, first.task, canonical=True)
    move(control, first.world, LOCAL, child, Column.READY, "it may run")

    with refused(control, first.world, errors.BudgetExhausted, "budget_exhausted"):
        dispatch(control, first.world, LOCAL, child, BASE)


@pytest.mark.contract("T11")
def test_the_task_shows_what_a_person_has_to_decide(control: Store, worker: Store) -> None:
    """The card itself says what is used up, what was tried, and what is not counted."""
    first = a_bounded_attempt(control, budget=Budget(attempts=1, cost=1_000_000))
    fail(control, worker, first, "error: x")

    with control.begin() as tx:
        seen = task_seen(tx, first.world, first.task).budget

    assert seen.used_up == ("attempts (1 of 1)",)
    assert [(one.attempt, one.outcome) for one in seen.tried] == [(first.id, "failed")]
    assert seen.tried[0].why == "author: command_failed: true: exit 1"
    assert seen.uncounted == ("cost",)


@pytest.mark.contract("T11")
def test_a_larger_budget_that_was_approved_lets_the_work_go_on(
    control: Store, worker: Store
) -> None:
    """Raising it is a revision, and what was used stays used."""
    first = a_bounded_attempt(control, budget=Budget(attempts=1))
    fail(control, worker, first, "error: x")
    with control.begin() as tx:
        order = task_seen(tx, first.world, first.task).work_order

    revise(control, first.world, LOCAL, order, larger(Budget(attempts=2)))
    submit(control, first.world, LOCAL, order)
    approve(control, first.world, LOCAL, order)

    second = again(control, first)
    fail(control, worker, second, "error: y")
    with refused(control, first.world, errors.BudgetExhausted, "budget_exhausted"):
        again(control, second)


@pytest.mark.contract("T11", "T09")
def test_no_claim_starts_anything_once_the_time_is_used_up(
    control: Store, worker: Store, common: Database
) -> None:
    """The claim after a loss may only look for what is there, and close."""
    attempt = a_bounded_attempt(control, budget=Budget(wall_time=timedelta(minutes=1)))
    catch_up(control, attempt.world)
    key = activity_of(control, attempt)
    a_claim(control, worker, key)
    began_earlier(common, attempt, timedelta(minutes=2))
    with common.as_app() as session:
        session.execute(
            "update fencepost.claims set ended = clock_timestamp(), end_cause = 'expired'"
            " where world_id = %s",
            (key.world,),
        )

    assert deliver(control, key, Cause.LOST_WORKER)

    with control.begin() as tx:
        assert activities.get(tx, key).stop is Stop.CLOSE_ONLY


@pytest.mark.contract("T11", "E11")
def test_what_agents_report_is_used_up(control: Store, worker: Store) -> None:
    """Tokens and cost of all attempts count; a report that is missing counts as none."""
    first = a_bounded_attempt(control, budget=Budget(tokens=100, cost=1_000_000))
    usage: dict[str, Json] = {"input_tokens": 60, "output_tokens": 10, "cost_microdollars": None}
    fail(control, worker, first, "error: x", usage)
    second = again(control, first)
    fail(control, worker, second, "error: y")
    third = again(control, second)
    fail(control, worker, third, "error: z", usage)

    with refused(control, first.world, errors.BudgetExhausted, "budget_exhausted") as refusal:
        again(control, third)
    assert "its budget: tokens (140 of 100);" in refusal.value.message


def fail(
    control: Store, worker: Store, attempt: Attempt, output: str,
    usage: dict[str, Json] | None = None,
) -> None:  # fmt: skip
    """Carry the attempt's author out as a command that failed with this output."""
    value: dict[str, Json] = {
        "v": 1, "outcome": "failed", "sandbox": {}, "checks": [], "commits": [],
        "execution": {"ran": True, "exit": 1, "output": output, "usage": usage},
        "frictions": [{"code": "command_failed", "detail": "true: exit 1"}],
    }  # fmt: skip
    catch_up(control, attempt.world)
    carry_out(control, worker, attempt, Observation(Outcome.FAILED, canonical(value)))


def again(control: Store, failed: Attempt) -> Attempt:
    """The next attempt of the task."""
    new = retry(control, failed.world, LOCAL, failed.task, BASE, REASON)
    return Attempt(failed.world, failed.task, new)


def began_earlier(common: Database, attempt: Attempt, by: timedelta) -> None:
    """Move the beginning of an attempt back; the database's triggers know no such change."""
    with common.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        session.execute(
            "update fencepost.attempts set created_at = created_at - %s where attempt_id = %s",
            (by, attempt.id),
        )


def larger(budget: Budget) -> Specification:
    """The same words with another budget."""
    limit = timedelta(minutes=5)
    return Specification(
        "Tidy the source", BASE.branch, (), ("true",), (), limit, limit, budget=budget
    )
