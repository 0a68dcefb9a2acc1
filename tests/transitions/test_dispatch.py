"""What may be dispatched for the first time, and what is refused, each with a code of its own."""

from __future__ import annotations

import pytest
from fixtures.board import (
    WHY,
    a_canceled_attempt,
    a_draft,
    a_failed_attempt,
    attempts_of,
    hang,
    hangs_in,
    refused,
    verbs_of,
)
from fixtures.road import newest_receipt
from fixtures.world import BASE, a_ready_task, a_world

from app.domain import errors
from app.domain.board import Column
from app.domain.errors import Refused
from app.domain.result import Outcome
from app.store.engine import Store
from app.transitions.add_child import add_child
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch
from app.transitions.move import move
from app.transitions.set_world import set_world

NOT_FROM = [
    (Column.INBOX, errors.TaskInInbox, "task_in_inbox"),
    (Column.REVIEW, errors.TaskInReview, "task_in_review"),
    (Column.DONE, errors.TaskDone, "task_done"),
    (Column.CANCELED, errors.TaskCanceled, "task_canceled"),
]


@pytest.mark.contract("T02", "T03", "T04")
@pytest.mark.parametrize("column", [Column.READY, Column.IN_PROGRESS])
def test_a_first_dispatch_needs_no_prior_attempt(control: Store, column: Column) -> None:
    """From Ready and In Progress an approved task gets its attempt number 1, retry 0."""
    world = a_world(control)
    task = a_ready_task(control, world)
    hang(control, world, task, column)

    attempt = dispatch(control, world, LOCAL, task, BASE)

    (row,) = attempts_of(control, task)
    assert (row.attempt_id, row.number, row.retry) == (attempt, 1, 0)
    assert hangs_in(control, world, task) is Column.IN_PROGRESS
    assert verbs_of(control, world)[-1] == "dispatch"


@pytest.mark.contract("T02", "L8")
@pytest.mark.parametrize(("column", "refusal", "code"), NOT_FROM)
def test_a_card_in_another_column_does_not_run(
    control: Store, column: Column, refusal: type[Refused], code: str
) -> None:
    """Inbox, Review, Done and Canceled are refused, each with a code of its own."""
    world = a_world(control)
    task = a_ready_task(control, world)
    hang(control, world, task, column)

    with refused(control, world, refusal, code):
        dispatch(control, world, LOCAL, task, BASE)

    assert attempts_of(control, task) == []


@pytest.mark.contract("T02", "L8")
def test_a_task_without_an_approved_work_order_does_not_run(control: Store) -> None:
    """A card may be moved to Ready before anybody has approved anything; it does not run."""
    world = a_world(control)
    new = a_draft(control, world)
    move(control, world, LOCAL, new.task, Column.READY, WHY)

    with refused(control, world, errors.NotApproved, "not_approved"):
        dispatch(control, world, LOCAL, new.task, BASE)


@pytest.mark.contract("T02", "L8")
def test_a_task_of_another_work_order_does_not_run(control: Store) -> None:
    """Whoever names the work order that they mean is held to it."""
    world = a_world(control)
    task = a_ready_task(control, world)
    other = a_draft(control, world).work_order

    with refused(control, world, errors.TaskOfAnotherWorkOrder, "task_of_another_work_order"):
        dispatch(control, world, LOCAL, task, BASE, work_order=other)


@pytest.mark.contract("T02", "L8")
def test_a_task_of_another_world_does_not_run(control: Store) -> None:
    """It is told apart from one that does not exist, and its world is not named."""
    here, there = a_world(control), a_world(control)
    a_ready_task(control, here)
    task = a_ready_task(control, there)

    with refused(control, here, errors.TaskOfAnotherWorld, "task_of_another_world") as refusal:
        dispatch(control, here, LOCAL, task, BASE)
    with refused(control, here, errors.NotFound, "not_found"):
        dispatch(control, here, LOCAL, "t_nobody", BASE)

    assert there not in f"{refusal.value.message} {refusal.value.advice}"


@pytest.mark.contract("T02")
@pytest.mark.parametrize("column", [Column.INBOX, Column.REVIEW])
def test_a_world_may_declare_a_column_like_ready(control: Store, column: Column) -> None:
    """What its settings declare compatible with Ready runs, as if from there."""
    world = a_world(control)
    task = a_ready_task(control, world)
    hang(control, world, task, column)

    set_world(control, world, LOCAL, {"like_ready": [column]}, WHY)
    dispatch(control, world, LOCAL, task, BASE)

    assert hangs_in(control, world, task) is Column.IN_PROGRESS


@pytest.mark.contract("T02", "L8")
@pytest.mark.parametrize(
    "settings", [{"like_ready": ["done"]}, {"like_ready": "inbox"}, {"like_redy": ["inbox"]}]
)
def test_a_world_cannot_declare_what_makes_no_sense(
    control: Store, settings: dict[str, list[str] | str]
) -> None:
    """What is over is never ready, and a setting that does not exist is not kept."""
    world = a_world(control)
    a_ready_task(control, world)

    with refused(control, world, errors.BadInput, "bad_input"):
        set_world(control, world, LOCAL, settings, WHY)


@pytest.mark.contract("T03", "L8")
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.DEAD])
def test_a_task_that_was_attempted_is_not_dispatched_again(
    control: Store, worker: Store, outcome: Outcome
) -> None:
    """After a failure another attempt is not a first: it is a retry, and the refusal says so."""
    earlier = a_failed_attempt(control, worker, outcome)

    with refused(control, earlier.world, errors.PriorAttempt, "prior_attempt") as refusal:
        dispatch(control, earlier.world, LOCAL, earlier.task, BASE)

    assert f"tasks retry {earlier.task}" in refusal.value.advice


@pytest.mark.contract("T03", "L8")
def test_a_task_that_was_canceled_is_not_dispatched_again(control: Store) -> None:
    """A person ended it; going on after all is new work, a canonical child, which is a first."""
    earlier = a_canceled_attempt(control)
    world = earlier.world

    with refused(control, world, errors.PriorAttempt, "prior_attempt") as refusal:
        dispatch(control, world, LOCAL, earlier.task, BASE)
    assert "add-child" in refusal.value.advice

    child = add_child(control, world, LOCAL, earlier.task, canonical=True)
    move(control, world, LOCAL, child, Column.READY, WHY)
    assert dispatch(control, world, LOCAL, child, BASE)


@pytest.mark.contract("T05", "L8")
def test_a_task_with_an_active_attempt_is_not_dispatched(control: Store) -> None:
    """One attempt at a time."""
    world = a_world(control)
    task = a_ready_task(control, world)
    dispatch(control, world, LOCAL, task, BASE)

    with refused(control, world, errors.ActiveAttempt, "active_attempt"):
        dispatch(control, world, LOCAL, task, BASE)


@pytest.mark.contract("T06", "T07")
def test_a_key_finds_its_dispatch_although_the_base_has_moved_on(control: Store) -> None:
    """The commit was found out, not asked for; the receipt keeps the key and the commit."""
    world = a_world(control)
    task = a_ready_task(control, world)
    first = dispatch(control, world, LOCAL, task, BASE, WHY, key="k1")

    again = dispatch(control, world, LOCAL, task, Base(BASE.branch, "6" * 40), WHY, key="k1")

    said = newest_receipt(control, world)
    assert again == first
    assert (said["verb"], said["actor"], said["reason"], said["key"]) == (
        "dispatch", LOCAL, WHY, "k1",
    )  # fmt: skip
    assert said["subject"] == {
        "task": task, "base": BASE.branch, "attempt": first, "sha": BASE.sha,
    }  # fmt: skip
