"""A task's card: the columns it hangs in, and every legal move of it."""

from __future__ import annotations

from collections.abc import Mapping, Set

from app.domain.board import Column
from app.domain.digest import Json
from app.domain.errors import BadInput, IllegalMove
from app.domain.transition import Hand, Transition

#: Every legal move of a card; a dispatch from a column like Ready counts as one from Ready.
MOVES = (
    Transition(Column.INBOX, Column.READY, Hand.PERSON, "it may run"),
    Transition(Column.INBOX, Column.CANCELED, Hand.PERSON, "not wanted"),
    Transition(Column.READY, Column.INBOX, Hand.PERSON, "not yet"),
    Transition(Column.READY, Column.IN_PROGRESS, Hand.PERSON, "taken up"),
    Transition(Column.READY, Column.IN_PROGRESS, Hand.PROCESSOR, "dispatched, retried"),
    Transition(Column.READY, Column.CANCELED, Hand.PERSON, "not wanted"),
    Transition(Column.IN_PROGRESS, Column.READY, Hand.PERSON, "put back"),
    Transition(Column.IN_PROGRESS, Column.READY, Hand.PROCESSOR, "its attempt was canceled"),
    Transition(Column.IN_PROGRESS, Column.IN_PROGRESS, Hand.PROCESSOR, "failed, retried"),
    Transition(Column.IN_PROGRESS, Column.REVIEW, Hand.PERSON, "look at it"),
    Transition(Column.IN_PROGRESS, Column.REVIEW, Hand.PROCESSOR, "its request is open"),
    Transition(Column.IN_PROGRESS, Column.DONE, Hand.PERSON, "done by hand"),
    Transition(Column.IN_PROGRESS, Column.DONE, Hand.PROCESSOR, "nothing had to change"),
    Transition(Column.IN_PROGRESS, Column.CANCELED, Hand.PERSON, "given up"),
    Transition(Column.REVIEW, Column.IN_PROGRESS, Hand.PERSON, "more is asked for"),
    Transition(Column.REVIEW, Column.DONE, Hand.PERSON, "accepted"),
    Transition(Column.REVIEW, Column.CANCELED, Hand.PERSON, "turned down"),
    Transition(Column.CANCELED, Column.INBOX, Hand.PERSON, "taken up again"),
)

#: A world's settings may declare these like Ready (T02); what is over is never ready.
MAY_BE_LIKE_READY = frozenset({Column.INBOX, Column.REVIEW})

_LEGAL = frozenset((move.before, move.after, move.hand) for move in MOVES)


def check_move(
    task: str, before: Column, after: Column, hand: Hand, like_ready: Set[Column] = frozenset()
) -> None:
    """Refuse a move that is not in the table: IllegalMove."""
    starts = {before, Column.READY} if hand is Hand.PROCESSOR and before in like_ready else {before}
    if any((start, after, hand) in _LEGAL for start in starts):
        return
    ways = sorted({move.after for move in MOVES if (move.before, move.hand) == (before, hand)})
    raise IllegalMove(
        f"task {task} hangs in {before}; a {hand} may not move it to {after}",
        hint=f"from there it may go to: {', '.join(ways) or 'nowhere'}",
    )


def like_ready(settings: Mapping[str, Json]) -> frozenset[Column]:
    """The columns that a world's settings declare compatible with Ready; BadInput (T02)."""
    names = settings.get("like_ready", [])
    known = isinstance(names, list) and all(str(name) in MAY_BE_LIKE_READY for name in names)
    if not isinstance(names, list) or not known:
        raise BadInput(
            f"like_ready: a list of {' and '.join(sorted(MAY_BE_LIKE_READY))}, not {names}"
        )
    return frozenset(Column(name) for name in names)
