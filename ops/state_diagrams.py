"""Draws docs/states.md from the tables by which the code decides, so that the two cannot differ."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from app.domain.card import MAY_BE_LIKE_READY, MOVES
from app.domain.lifecycle import LIFE
from app.domain.transition import Transition

PAGE = Path(__file__).parents[1] / "docs" / "states.md"

HEAD = """\
# States

Drawn by `ops/states` from the tables that the code decides by; do not edit this page.
What is not drawn is refused, with a code and the ways that are open.
A *person* asks for it by a command; a *processor* does it inside a tick.
"""

#: Title, what to know beside the picture, and the table.
DRAWN: tuple[tuple[str, str, Sequence[Transition]], ...] = (
    (
        "A task's card",
        "From `app/domain/card.py`. While an attempt is active its card goes where the attempt "
        "takes it, and no person moves it.\n"
        f"A world's settings may declare {' and '.join(sorted(MAY_BE_LIKE_READY))} like ready: "
        "a dispatch from there counts as one from ready.",
        MOVES,
    ),
    (
        "A work order",
        "From `app/domain/lifecycle.py`. Each transition is named after its verb. "
        "A revision takes the approval away.",
        LIFE,
    ),
)


def main(arguments: Sequence[str] = ()) -> int:
    """Write the page; with `--check` 1 says that it is stale."""
    if "--check" in arguments:
        is_stale = not PAGE.exists() or PAGE.read_text("utf-8") != page()
        print("docs/states.md is stale: run ops/states" if is_stale else "docs/states.md is drawn")
        return int(is_stale)
    PAGE.write_text(page(), "utf-8")
    return 0


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for one in DRAWN for line in _section(*one))])


def _section(title: str, beside: str, table: Sequence[Transition]) -> Iterator[str]:
    yield from (f"## {title}", "", beside, "", "```mermaid", "stateDiagram-v2")
    yield from (f"    {line}" for line in _diagram(table))
    yield from ("```", "", "| from | to | by | what |", "| --- | --- | --- | --- |")
    yield from (f"| {t.before} | {t.after} | {t.hand} | {t.meaning} |" for t in table)
    yield ""


def _diagram(table: Sequence[Transition]) -> Iterator[str]:
    """One arrow between two states, whoever may take it; Mermaid wants no colon in a label."""
    yield f"[*] --> {table[0].before}"
    ordered = sorted(table, key=lambda one: _ends(table, one))
    for (before, after), found in groupby(ordered, key=lambda one: (one.before, one.after)):
        yield f"{before} --> {after}: {_label(found)}"
    left = {one.before for one in table if one.before != one.after}
    yield from (
        f"{end} --> [*]" for end in dict.fromkeys(one.after for one in table) if end not in left
    )


def _ends(table: Sequence[Transition], one: Transition) -> tuple[int, int]:
    states = list(dict.fromkeys(state for row in table for state in (row.before, row.after)))
    return states.index(one.before), states.index(one.after)


def _label(found: Iterable[Transition]) -> str:
    return " / ".join(f"{one.meaning} ({one.hand})" for one in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
