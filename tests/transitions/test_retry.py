"""A retry is a verb of its own: after a failure, of the same task, with a reason."""

from __future__ import annotations

import pytest
from fixtures.board import (
    a_canceled_attempt,
    a_failed_attempt,
    attempts_of,
    hangs_in,
    refused,
    verbs_of,
)
from fixtures.road import carry_out, newest_receipt
from fixtures.world import (
    BASE,
    Attempt,
    a_dispatched_attempt,
    a_ready_task,
    a_world,
    author_observation,
    catch_up,
)

from app.domain import errors
from app.domain.board import Column
from app.domain.result import Outcome
from app.store.engine import Store
from app.transitions.add_child import add_child
from app.transitions.change import LOCAL
from app.transitions.move import move
from app.transitions.retry import retry

REASON = "the mirror is warm now"


@pytest.mark.contract("T03", "T04", "L7")
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.DEAD])
def test_a_failure_is_followed_by_a_numbered_attempt_and_stays(
    control: Store, worker: Store, outcome: Outcome
) -> None:
    """The retry is attempt 2, retry 1, with its reason; not one column of the failure changes."""
    failed = a_failed_attempt(control, worker, outcome)
    (before,) = attempts_of(control, failed.task)

    again = retry(control, failed.world, LOCAL, failed.task, BASE, f"  {REASON} ")

    first, second = attempts_of(control, failed.task)
    assert first == before
    assert first.outcome == outcome
    assert (second.attempt_id, second.number, second.retry) == (again, 2, 1)
    assert (second.reason, second.actor, second.ended_at) == (REASON, LOCAL, None)
    assert hangs_in(control, failed.world, failed.task) is Column.IN_PROGRESS


@pytest.mark.contract("T04")
def test_retries_are_counted(control: Store, worker: Store) -> None:
    """Each has the next number, however often it fails."""
    attempt = a_failed_attempt(control, worker)
    for _ in range(2):
        again = retry(control, attempt.world, LOCAL, attempt.task, BASE, REASON)
        attempt = Attempt(attempt.world, attempt.task, again)
        catch_up(control, attempt.world)
        carry_out(control, worker, attempt, author_observation(Outcome.FAILED))

    rows = attempts_of(control, attempt.task)
    assert [(row.number, row.retry) for row in rows] == [(1, 0), (2, 1), (3, 2)]
    assert [row.outcome for row in rows] == ["failed"] * 3
    assert verbs_of(control, attempt.world).count("retry") == 2


@pytest.mark.contract("T03")
def test_a_failed_task_is_retried_from_ready_too(control: Store, worker: Store) -> None:
    """Whoever has put the card back for later may retry it from there."""
    failed = a_failed_attempt(control, worker)
    move(control, failed.world, LOCAL, failed.task, Column.READY, "later")

    retry(control, failed.world, LOCAL, failed.task, BASE, REASON)

    assert hangs_in(control, failed.world, failed.task) is Column.IN_PROGRESS


@pytest.mark.contract("T03", "L8")
@pytest.mark.parametrize("reason", ["", "too short", "  9 letters\t", "\n" * 20])
def test_a_retry_needs_a_reason_of_ten_characters(
    control: Store, worker: Store, reason: str
) -> None:
    """White space around it does not count."""
    failed = a_failed_attempt(control, worker)

    with refused(control, failed.world, errors.NoRecoveryReason, "no_recovery_reason"):
        retry(control, failed.world, LOCAL, failed.task, BASE, reason)


@pytest.mark.contract("T03")
def test_ten_characters_are_enough(control: Store, worker: Store) -> None:
    """The tenth character is the one that counts."""
    failed = a_failed_attempt(control, worker)

    assert retry(control, failed.world, LOCAL, failed.task, BASE, " 0123456789 ")


@pytest.mark.contract("T03", "L8")
def test_what_was_never_attempted_is_not_retried(control: Store) -> None:
    """There is nothing to recover from."""
    world = a_world(control)
    task = a_ready_task(control, world)

    with refused(control, world, errors.NothingToRetry, "nothing_to_retry"):
        retry(control, world, LOCAL, task, BASE, REASON)


@pytest.mark.contract("T03", "L8")
def test_what_is_under_way_is_not_retried(control: Store) -> None:
    """A retry waits for the end of the attempt, or for its cancel."""
    active = a_dispatched_attempt(control)

    with refused(control, active.world, errors.ActiveAttempt, "active_attempt"):
        retry(control, active.world, LOCAL, active.task, BASE, REASON)


@pytest.mark.contract("T03", "L8")
def test_what_was_canceled_did_not_fail(control: Store) -> None:
    """A person ended it; going on after all is new work, a canonical child."""
    canceled = a_canceled_attempt(control)

    with refused(control, canceled.world, errors.DidNotFail, "did_not_fail") as refusal:
        retry(control, canceled.world, LOCAL, canceled.task, BASE, REASON)

    assert "add-child" in refusal.value.advice


@pytest.mark.contract("T02", "L8")
def test_a_failed_task_in_another_column_is_not_retried(control: Store, worker: Store) -> None:
    """What may not be dispatched may not be retried either."""
    failed = a_failed_attempt(control, worker)
    move(control, failed.world, LOCAL, failed.task, Column.DONE, "done by hand")

    with refused(control, failed.world, errors.TaskDone, "task_done"):
        retry(control, failed.world, LOCAL, failed.task, BASE, REASON)


@pytest.mark.contract("T01", "L8")
def test_a_failed_task_with_a_canonical_child_is_not_retried(control: Store, worker: Store) -> None:
    """From then on it is the child that runs."""
    failed = a_failed_attempt(control, worker)
    child = add_child(control, failed.world, LOCAL, failed.task, canonical=True)

    with refused(control, failed.world, errors.NotCanonicalChild, "not_canonical_child") as refusal:
        retry(control, failed.world, LOCAL, failed.task, BASE, REASON)

    assert child in refusal.value.advice


@pytest.mark.contract("T03", "L8")
def test_only_the_latest_attempt_is_retried(control: Store, worker: Store) -> None:
    """An attempt of another task, or one that others followed, names no failure to recover from."""
    failed = a_failed_attempt(control, worker)
    other = a_failed_attempt(control, worker)

    with refused(control, failed.world, errors.NotLatestAttempt, "not_latest_attempt"):
        retry(control, failed.world, LOCAL, failed.task, BASE, REASON, attempt=other.id)
    assert retry(control, failed.world, LOCAL, failed.task, BASE, REASON, attempt=failed.id)


@pytest.mark.contract("T06", "T07")
def test_a_key_finds_its_retry(control: Store, worker: Store) -> None:
    """Asked twice under one key, a failure is followed by one attempt; the receipt says why."""
    failed = a_failed_attempt(control, worker)

    first = retry(control, failed.world, LOCAL, failed.task, BASE, REASON, key="k1")
    second = retry(control, failed.world, LOCAL, failed.task, BASE, REASON, key="k1")

    assert first == second
    said = newest_receipt(control, failed.world)
    assert (said["verb"], said["actor"], said["reason"], said["key"]) == (
        "retry", LOCAL, REASON, "k1",
    )  # fmt: skip
    assert len(attempts_of(control, failed.task)) == 2
