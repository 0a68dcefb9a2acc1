"""What a work order has used up of its budget, and when a person has to be asked (T11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from app.domain.digest import Json
from app.domain.failure import Signature
from app.domain.work_order import Budget

_MOST_TOLD = 10


class Dimension(StrEnum):
    """What a budget bounds."""

    ATTEMPTS = "attempts"
    WALL_TIME = "wall_time"
    COST = "cost"
    TOKENS = "tokens"
    REPEATED_FAILURES = "repeated_failures"


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt under a work order, and what it took."""

    attempt: str
    outcome: str | None  #: none while it is active
    took: timedelta  #: from its dispatch to its end, or to now
    failed: Signature | None = None
    why: str = ""  #: what failed, in its own words
    tokens: int | None = None  #: where its agent reports them; None is not zero
    cost: int | None = None  #: millionths of a US dollar, likewise


@dataclass(frozen=True, slots=True)
class Exhausted:
    """One dimension with nothing left."""

    dimension: Dimension
    used: str

    def __str__(self) -> str:
        """As a person reads it."""
        return f"{self.dimension} ({self.used})"


def budget_of(specification: Mapping[str, Json]) -> Budget:
    """The budget of a work order, from its canonical form."""
    value = specification.get("budget")
    said = value if isinstance(value, Mapping) else {}
    wall_time = _count(said, "wall_time_s")
    return Budget(
        attempts=_count(said, "attempts"),
        wall_time=None if wall_time is None else timedelta(seconds=wall_time),
        cost=_count(said, "cost_microdollars"),
        tokens=_count(said, "tokens"),
        repeated_failures=_count(said, "repeated_failures"),
    )


def exhausted(budget: Budget, tried: Sequence[Tried]) -> tuple[Exhausted, ...]:
    """The dimensions with nothing left for another attempt; what is not reported counts as none."""
    return tuple(_exhausted(budget, tried))


def uncounted(budget: Budget, tried: Sequence[Tried]) -> tuple[Dimension, ...]:
    """The dimensions that are bounded, and that no attempt so far has reported."""
    return tuple(
        dimension
        for dimension, bound, reported in _reported(budget, tried)
        if bound is not None and not reported
    )


def told(tried: Sequence[Tried]) -> str:
    """What was tried, newest last; the oldest of many are left out."""
    lines = [
        f"{one.attempt} {one.outcome or 'active'}" + (f" ({one.why})" if one.why else "")
        for one in tried[-_MOST_TOLD:]
    ]
    return "; ".join(lines)


def _exhausted(budget: Budget, tried: Sequence[Tried]) -> Iterator[Exhausted]:
    if budget.attempts is not None and len(tried) >= budget.attempts:
        yield Exhausted(Dimension.ATTEMPTS, f"{len(tried)} of {budget.attempts}")
    took = sum((one.took for one in tried), timedelta(0))
    if budget.wall_time is not None and took >= budget.wall_time:
        yield Exhausted(
            Dimension.WALL_TIME, f"{_seconds(took)} s of {_seconds(budget.wall_time)} s"
        )
    for dimension, bound, reported in _reported(budget, tried):
        if bound is not None and sum(reported) >= bound:
            yield Exhausted(dimension, f"{sum(reported)} of {bound}")
    if budget.repeated_failures is not None:
        alike = Counter(one.failed for one in tried if one.failed is not None)
        for failed, times in alike.items():
            if times >= budget.repeated_failures:
                what = f"{failed.failure} in step {failed.step}, {times} times: {failed.line}"
                yield Exhausted(Dimension.REPEATED_FAILURES, what)


def _reported(
    budget: Budget, tried: Sequence[Tried]
) -> Iterator[tuple[Dimension, int | None, list[int]]]:
    """What agents report: its bound, and every report."""
    costs, tokens = [one.cost for one in tried], [one.tokens for one in tried]
    yield Dimension.COST, budget.cost, [cost for cost in costs if cost is not None]
    yield Dimension.TOKENS, budget.tokens, [count for count in tokens if count is not None]


def _count(said: Mapping[str, Json], name: str) -> int | None:
    value = said.get(name)
    return value if isinstance(value, int) else None


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
