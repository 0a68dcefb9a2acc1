"""What is tried again by itself, how often, and after which pauses."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.failure import FailureClass
from app.domain.identity import ActivityId, ActivityKey, Kind, WorldId
from app.domain.retry import POLICY, retry_after
from app.domain.work_order import RETRIED, RetryRule

DAY = timedelta(days=1)


def key(activity: str = "a") -> ActivityKey:
    return ActivityKey(WorldId("w_1"), Kind("missions.author"), ActivityId(activity))


@pytest.mark.contract("T09")
@pytest.mark.parametrize("failure", FailureClass)
def test_three_classes_retry_by_themselves_and_no_other(failure: FailureClass) -> None:
    """Trouble that passes is tried again; a verdict, a bound or a cancel never is."""
    retried = {FailureClass.TRANSIENT, FailureClass.CAPACITY, FailureClass.LOST_WORKER}
    generous = {failure: RetryRule(100)}

    assert (retry_after(failure, 0, {}, key()) is not None) == (failure in retried)
    assert (retry_after(failure, 0, generous, key()) is not None) == (failure in retried)


@pytest.mark.contract("T09")
def test_a_work_order_can_name_exactly_what_is_retried() -> None:
    """Its schema and the policy agree."""
    assert set(RETRIED) == set(POLICY)


@pytest.mark.contract("T09")
@pytest.mark.parametrize("failure", POLICY)
def test_pauses_grow_up_to_a_bound_and_the_tries_end(failure: FailureClass) -> None:
    """Each pause is about twice the one before; then a person is asked."""
    policy = POLICY[failure]

    pauses = [retry_after(failure, tries, {}, key()) for tries in range(policy.attempts)]

    assert all(pause is not None and policy.first <= pause for pause in pauses)
    assert pauses == sorted(pauses)  # type: ignore[type-var]
    assert max(pauses) <= policy.longest * 1.25  # type: ignore[type-var, operator]
    assert retry_after(failure, policy.attempts, {}, key()) is None


@pytest.mark.contract("T09")
def test_activities_that_fail_together_do_not_return_together() -> None:
    """The jitter belongs to activity and try, so that asking again gives the same answer."""
    pauses = [retry_after(FailureClass.TRANSIENT, 3, {}, key(str(n))) for n in range(50)]

    assert len(set(pauses)) > 40
    assert pauses == [retry_after(FailureClass.TRANSIENT, 3, {}, key(str(n))) for n in range(50)]


@pytest.mark.contract("T09")
def test_a_work_order_lowers_the_tries() -> None:
    """None at all is possible."""
    twice = {"transient": RetryRule(2)}

    assert retry_after(FailureClass.TRANSIENT, 1, twice, key()) is not None
    assert retry_after(FailureClass.TRANSIENT, 2, twice, key()) is None
    assert retry_after(FailureClass.TRANSIENT, 0, {"transient": RetryRule(0)}, key()) is None
    assert retry_after(FailureClass.CAPACITY, 2, twice, key()) is not None


@pytest.mark.contract("T09")
def test_a_work_order_only_tightens() -> None:
    """More tries or a shorter pause than the policy has are not to be had."""
    policy = POLICY[FailureClass.CAPACITY]
    loose = {"capacity": RetryRule(100, timedelta(milliseconds=1))}

    assert retry_after(FailureClass.CAPACITY, policy.attempts, loose, key()) is None
    assert retry_after(FailureClass.CAPACITY, 0, loose, key()) == retry_after(
        FailureClass.CAPACITY, 0, {}, key()
    )


@pytest.mark.contract("T09")
def test_a_work_order_lengthens_the_pauses() -> None:
    """Its backoff is the first pause; the database takes none above a day."""
    slow = {"transient": RetryRule(3, timedelta(hours=10))}

    pauses = [retry_after(FailureClass.TRANSIENT, tries, slow, key()) for tries in range(3)]

    assert all(pause is not None and timedelta(hours=10) <= pause <= DAY for pause in pauses)
    assert retry_after(FailureClass.TRANSIENT, 0, {"transient": RetryRule(1, 3 * DAY)}, key()) == (
        DAY
    )
