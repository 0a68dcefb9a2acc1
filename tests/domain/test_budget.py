"""A budget has several dimensions, and each stops the work on its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.budget import Dimension, Tried, budget_of, exhausted, told, uncounted
from app.domain.failure import Signature, signature
from app.domain.work_order import Budget

MINUTE = timedelta(minutes=1)
MISSING = signature("author", "command_failed", "no module named x")
OTHER = signature("author", "check_failed", "2 failed")


def tried(*failed: Signature | None) -> list[Tried]:
    return [
        Tried(f"a_{n}", "failed", MINUTE, one, "author: command_failed")
        for n, one in enumerate(failed, 1)
    ]


@pytest.mark.contract("T11")
@pytest.mark.parametrize(
    ("budget", "dimension"),
    [
        (Budget(attempts=3), Dimension.ATTEMPTS),
        (Budget(wall_time=3 * MINUTE), Dimension.WALL_TIME),
        (Budget(repeated_failures=2), Dimension.REPEATED_FAILURES),
    ],
)
def test_each_dimension_stops_the_work_on_its_own(budget: Budget, dimension: Dimension) -> None:
    """It says which one, and how much of it was used."""
    (found,) = exhausted(budget, tried(MISSING, OTHER, MISSING))

    assert found.dimension is dimension
    assert found.used in {
        "3 of 3",
        "180 s of 180 s",
        "command in step author, 2 times: no module named x",
    }


@pytest.mark.contract("T11")
@pytest.mark.parametrize(
    "budget",
    [
        Budget(), Budget(attempts=4), Budget(wall_time=4 * MINUTE), Budget(repeated_failures=3),
        Budget(cost=1, tokens=1),
    ],
)  # fmt: skip
def test_what_is_left_allows_another_attempt(budget: Budget) -> None:
    """Nothing is used up before its bound; nothing that is not reported is counted."""
    assert exhausted(budget, tried(MISSING, OTHER, MISSING)) == ()


@pytest.mark.contract("T11")
def test_different_failures_are_not_repeated_ones() -> None:
    """Each signature is counted for itself."""
    assert exhausted(Budget(repeated_failures=2), tried(MISSING, OTHER, None, None)) == ()


def test_what_is_bounded_and_not_reported_is_named() -> None:
    """People are not left to believe that it is watched."""
    silent = tried(MISSING)
    speaking = [replace(silent[0], tokens=0)]

    assert uncounted(Budget(cost=5, tokens=7), silent) == (Dimension.COST, Dimension.TOKENS)
    assert uncounted(Budget(cost=5, tokens=7), speaking) == (Dimension.COST,)
    assert uncounted(Budget(attempts=1), silent) == ()


@pytest.mark.contract("T11")
def test_what_agents_report_is_counted_over_all_attempts() -> None:
    """Tokens and cost add up; an attempt that reports none adds none."""
    first, second, third = tried(MISSING, OTHER, None)
    some = [replace(first, tokens=70, cost=9), second, replace(third, tokens=30)]

    assert [str(one) for one in exhausted(Budget(tokens=100), some)] == ["tokens (100 of 100)"]
    assert [str(one) for one in exhausted(Budget(cost=9), some)] == ["cost (9 of 9)"]
    assert exhausted(Budget(tokens=101, cost=10), some) == ()


def test_a_budget_is_read_from_the_canonical_form() -> None:
    """What was approved is what bounds."""
    budget = Budget(3, timedelta(hours=2), 1_500_000, 10, 2)

    assert budget_of({"budget": budget.value()}) == budget
    assert budget_of({}) == Budget()


def test_what_was_tried_is_said_with_its_failures() -> None:
    """The newest are the last."""
    words = told(tried(*[MISSING] * 12))

    assert words.startswith("a_3 failed (author: command_failed); ")
    assert words.endswith("a_12 failed (author: command_failed)")
