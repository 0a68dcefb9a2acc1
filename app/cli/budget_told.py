"""A work order's budget, told to people."""

from __future__ import annotations

from app.cli.shown import painted, plain
from app.store.views.budget import BudgetSeen


def tell_budget(seen: BudgetSeen) -> None:
    """Print what a person has to decide where something is used up, and what is not counted."""
    for dimension in seen.uncounted:
        print(f"  {dimension} is bounded, and no attempt so far reports it: it is not counted")
    if not seen.used_up:
        return
    print(painted("  the budget is used up: ", "bold") + plain(", ".join(seen.used_up), 400))
    for one in seen.tried:
        why = f": {plain(one.why, 200)}" if one.why else ""
        print(f"    tried {one.attempt}, {one.outcome or 'active'}{why}")
    print(f"  a person decides; fencepost work-orders revise {seen.work_order} FILE raises it")
