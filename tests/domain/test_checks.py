"""When checks have said their last word, and when the next look is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.checks import (
    GOOD,
    Check,
    Conclusion,
    Sighting,
    Source,
    Watch,
    conclude,
    kept,
    next_look,
    out_of_time,
)
from app.domain.failure import FailureClass, failure_class
from app.domain.identity import ActivityId, ActivityKey, Kind, WorldId
from app.domain.pull_request import RequestState
from app.domain.result import Outcome
from app.domain.retry import POLICY

SHA = "a" * 40
KEY = ActivityKey(WorldId("w_1"), Kind("forge.checks"), ActivityId("f" * 64))
WATCH = Watch(SHA, timedelta(hours=2), timedelta(seconds=60))
LATE = timedelta(minutes=10)

pytestmark = pytest.mark.contract("O10")


def check(conclusion: str | None, name: str = "build") -> Check:
    return Check(name, Source.CHECK_RUN, "completed" if conclusion else "queued", conclusion, "")


def said(*checks: Check, at: timedelta = LATE, **more: object) -> Conclusion | None:
    """What follows from seeing these."""
    values: dict[str, object] = {"request": RequestState.OPEN, "head_sha": SHA, **more}
    return conclude(WATCH, Sighting(checks=checks, **values), at)  # type: ignore[arg-type]


@pytest.mark.parametrize("conclusion", GOOD)
def test_good_ones_are_green(conclusion: str) -> None:
    """Each of them, and all together."""
    found = said(check(conclusion), check("success"))

    assert found is not None
    assert (found.outcome, found.note) == (Outcome.GREEN, None)


@pytest.mark.parametrize(
    "conclusion",
    ["failure", "error", "cancelled", "timed_out", "action_required", "stale", "startup_failure",
     "a word of next year"],
)  # fmt: skip
def test_what_is_not_known_to_be_good_is_bad(conclusion: str) -> None:
    """One is enough, whatever goes on beside it."""
    found = said(check("success"), check(conclusion), check(None))

    assert found is not None
    assert (found.outcome, found.code) == (Outcome.FAILED, "forge_check_failed")
    assert found.detail == f"build: {conclusion}"


def test_nothing_is_said_while_one_goes_on() -> None:
    """Until the timeout."""
    assert said(check("success"), check(None)) is None

    found = said(check(None, "slow"), at=WATCH.timeout)

    assert found is not None
    assert (found.code, "slow" in found.detail) == ("checks_timed_out", True)


@pytest.mark.parametrize("checks", [(), (check("success"),)], ids=["none", "passed"])
def test_green_waits_for_the_grace(checks: tuple[Check, ...]) -> None:
    """A check that is made a moment later would be missed."""
    assert said(*checks, at=timedelta(seconds=59)) is None

    found = said(*checks, at=timedelta(seconds=60))

    assert found is not None
    assert found.outcome is Outcome.GREEN
    assert (found.note is None) == bool(checks)


def test_a_failure_waits_for_nothing() -> None:
    """Not for the grace either."""
    assert said(check("failure"), at=timedelta(0)) is not None


def test_what_passed_after_the_timeout_has_passed() -> None:
    """Whoever looked late sees the truth all the same."""
    found = said(check("success"), at=timedelta(days=3))

    assert found is not None
    assert found.outcome is Outcome.GREEN


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"request": RequestState.CLOSED}, "request_closed"),
        ({"head_sha": "b" * 40}, "request_head_replaced"),
        ({"request": RequestState.MERGED, "head_sha": "b" * 40}, "request_head_replaced"),
    ],
)
def test_another_request_than_was_published_fails(more: dict[str, object], code: str) -> None:
    """Whatever its checks say."""
    found = said(check("success"), **more)

    assert found is not None
    assert found.code == code


@pytest.mark.contract("T09")
@pytest.mark.parametrize(
    "code", ["forge_check_failed", "request_closed", "request_head_replaced", "checks_timed_out"]
)
def test_none_of_them_is_tried_again_by_itself(code: str) -> None:
    """The same input fails again."""
    assert failure_class(code) in (FailureClass.VALIDATION, FailureClass.TIMEOUT)
    assert failure_class(code) not in POLICY


def test_looks_are_ever_further_apart() -> None:
    """From five seconds to a minute, with a jitter that is the activity's own."""
    pauses = [next_look(WATCH, KEY, looks, LATE).total_seconds() for looks in range(2000)]

    assert 5 <= pauses[0] <= 6.25
    assert pauses[3] >= 40
    assert min(pauses[4:]) >= 60
    assert max(pauses) <= 75
    assert len(set(pauses[4:])) > 100


def test_the_forge_s_own_pause_wins() -> None:
    """It names the time, and nobody looks before."""
    assert next_look(WATCH, KEY, 0, LATE, timedelta(minutes=9)) == timedelta(minutes=9)


def test_a_look_comes_when_the_time_is_over() -> None:
    """Not up to a minute later."""
    nearly = WATCH.timeout - timedelta(seconds=3)

    assert next_look(WATCH, KEY, 9, nearly) == timedelta(seconds=3)
    assert out_of_time(WATCH, nearly, "") is None


def test_of_very_many_checks_the_worst_are_kept() -> None:
    """An observation is bounded; what failed is in it."""
    many = [check("success", f"c-{number}") for number in range(900)]

    found = kept([*many, check("failure", "last")])

    assert len(found) == 200
    assert found[0] == check("failure", "last").value()
