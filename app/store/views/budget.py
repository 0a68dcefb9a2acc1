"""A work order's budget as people see it: what is used up, what was tried, what is not counted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from app.domain.budget import Tried, budget_of, exhausted, uncounted
from app.domain.identity import WorldId
from app.store.board import work_order
from app.store.budget import tried
from app.store.engine import Tx


@dataclass(frozen=True, slots=True)
class TriedSeen:
    """One attempt under the work order, and what failed of it."""

    attempt: str
    outcome: str | None
    took: timedelta
    why: str


@dataclass(frozen=True, slots=True)
class BudgetSeen:
    """Where a budget stands (T11)."""

    work_order: str
    used_up: tuple[str, ...]  #: with one of these there is no further attempt: a person decides
    tried: tuple[TriedSeen, ...]  #: oldest first
    uncounted: tuple[str, ...]  #: bounded, and reported by no attempt so far


def budget_seen(tx: Tx, world: str, order: str) -> BudgetSeen:
    """The budget of a work order and what its attempts took of it, up to now; NotFound."""
    bounds = budget_of(work_order(tx, WorldId(world), order).specification)
    all_tried = tried(tx, WorldId(world), order)
    return BudgetSeen(
        order,
        tuple(str(one) for one in exhausted(bounds, all_tried)),
        tuple(_seen(one) for one in all_tried),
        tuple(uncounted(bounds, all_tried)),
    )


def _seen(one: Tried) -> TriedSeen:
    return TriedSeen(one.attempt, one.outcome, one.took, one.why)
