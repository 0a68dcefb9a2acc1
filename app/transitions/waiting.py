"""Letting what waits for a place go on, at the end of every tick (O08)."""

from __future__ import annotations

from app.domain.bounds import MOST, limits_of, waits_for
from app.store import bounds
from app.store.bounds import Place
from app.transitions.advance import advance
from app.transitions.change import Change


def go_on(change: Change) -> None:
    """Let those that waited longest begin, as far as there is room; any tick may have made some."""
    change.cards.flush()
    for place in bounds.places(change.tx, change.world.id):
        last = None
        while _has_room(change, place):
            attempt = bounds.first(change.tx, change.world.id, place)
            if attempt in (None, last):
                break
            advance(change, attempt)
            last = attempt


def _has_room(change: Change, place: Place) -> bool:
    """Whether somebody who waits there may begin; its own bound may be narrower still."""
    change.cards.flush()
    limits = limits_of(change.settings)
    load = bounds.load(change.tx, change.world.id, limits, place.repository, place.base)
    writes = MOST if place.base else None
    return waits_for(limits, load, is_at_work=False, writes=writes) is not place.bound
