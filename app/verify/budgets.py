"""No attempt began beyond its work order's budget (T11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta

from app.domain.digest import Json
from app.store import schema
from app.verify.finding import AnyRow, Finding, against
from app.verify.reading import World, value_of
from app.verify.replay import Attempt, Board

_REVISIONS = schema.facts.c.component == "WorkOrder"


def check(world: World, board: Board) -> Iterator[Finding]:
    """Hold each attempt against the budget that was approved when it began.

    Attempts and wall time; of the latter only what had ended by then. Alike failures are not
    counted a second time.
    """
    budgets = dict(_budgets(world))
    earlier: dict[str, list[AnyRow]] = defaultdict(list)
    for row in sorted(world.rows(schema.attempts), key=lambda one: int(one.tick)):
        told = board.attempts.get(row.attempt_id, Attempt(""))
        before = earlier[told.order]
        yield from _within(budgets.get(told.approved or "", {}), row, before)
        before.append(row)


def _budgets(world: World) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Digest of a revision → the budget that it says."""
    for fact in world.rows(schema.facts, large=("value",), where=_REVISIONS):
        budget = (value_of(fact.value) or {}).get("budget")
        yield fact.digest, budget if isinstance(budget, Mapping) else {}


def _within(budget: Mapping[str, Json], row: AnyRow, before: list[AnyRow]) -> Iterator[Finding]:
    most, longest = budget.get("attempts"), budget.get("wall_time_s")
    if isinstance(most, int) and len(before) >= most:
        what = f"it is attempt {len(before) + 1} under a budget of {most}"
        yield against("T11", schema.attempts, row, what)
    ended = [one for one in before if one.ended_at is not None and one.ended_at < row.created_at]
    took = sum((one.ended_at - one.created_at for one in ended), timedelta(0))
    if isinstance(longest, int) and took >= timedelta(seconds=longest):
        what = f"it began after {took} under a budget of {longest} s"
        yield against("T11", schema.attempts, row, what)
