"""A task, told to people."""

from __future__ import annotations

from app.cli.budget_told import tell_budget
from app.cli.shown import painted, plain
from app.store.views.task import Deed, TaskSeen


def tell(seen: TaskSeen) -> None:
    """Print a task's card, its family, its attempts, and its history, oldest first."""
    print(painted(f"task {seen.id}: {plain(seen.title)}", "bold"))
    print(f"  in {seen.column}, of work order {seen.work_order}")
    if seen.parent:
        print(f"  {'canonical ' if seen.canonical else ''}child of {seen.parent}")
    for child in seen.children:
        kind = "canonical child" if child.canonical else "child"
        print(f"  {kind} {child.id} ({child.column}): {plain(child.title, 60)}")
    for one in seen.attempts:
        why = f", because: {plain(one.reason)}" if one.reason else ""
        print(f"  attempt {one.number}, retry {one.retry}: {one.id} {one.outcome or 'active'}{why}")
    tell_budget(seen.budget)
    print()
    for deed in seen.history:
        print(f"  {deed.at:%FT%TZ}  receipt {deed.tick}  {_words(deed)}")


def _words(deed: Deed) -> str:
    words = f"{deed.actor}: {deed.verb}"
    if deed.after:
        words += f", {deed.before} → {deed.after}" if deed.before else f", into {deed.after}"
    if deed.attempt:
        words += f", attempt {deed.attempt}"
    if deed.key:
        words += f", key {plain(deed.key)}"
    return words + (f", because: {plain(deed.reason)}" if deed.reason else "")
