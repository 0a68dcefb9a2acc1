"""Dismissing many dead letters, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.authority import Principal, require
from app.store import dead_letters
from app.store.engine import Store
from app.store.views.dead_letters import Sought, letters_open
from app.transitions.dismiss import check_reason, dismiss

PAGE = 500  #: letters of one transaction


@dataclass(slots=True)
class Dismissed:
    """What a run came to."""

    dismissed: int = 0
    before: int = 0  #: that were replayed or dismissed already


@dataclass(frozen=True, slots=True)
class Dismissing:
    """Whoever dismisses, and why."""

    store: Store
    principal: Principal
    reason: str
    is_rehearsal: bool

    def of(self, letters: Sequence[int]) -> Dismissed:
        """Dismiss these; one that is none is NotFound, and then none is dismissed."""
        check_reason(self.reason)
        those, tally = sorted(set(letters)), Dismissed()
        self._page(those, tally)
        return tally

    def sought(self, sought: Sought) -> Dismissed:
        """Dismiss what a filter finds, oldest first; what comes meanwhile may be among it."""
        check_reason(self.reason)
        tally, after = Dismissed(), 0
        while True:
            with self.store.begin() as tx:
                page = letters_open(tx, sought, after, PAGE)
            if not page:
                return tally
            self._page(page, tally)
            after = page[-1]

    def _page(self, letters: Sequence[int], tally: Dismissed) -> None:
        with self.store.begin() as tx:
            for world in set(dead_letters.worlds_of(tx, letters).values()):
                require(self.principal, "dismiss", world)
            count = dead_letters.open_among(tx, letters)
        if not self.is_rehearsal:
            count = len(dismiss(self.store, self.principal.id, self.reason, letters))
        tally.dismissed += count
        tally.before += len(letters) - count
