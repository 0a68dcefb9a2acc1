"""Heeding a hint of a forge: who watches looks sooner; nothing else follows (G07)."""

from __future__ import annotations

from app.domain.hint import Hint
from app.events import Moment, emit
from app.store import hints
from app.store.engine import Store
from app.store.listening import wake


def hint(store: Store, told: Hint) -> int | None:
    """Keep a delivery's id, and bring forward the looks that wait for it; how many.

    None: it came before, and is not heeded again. What is believed is what the next look sees.
    """
    with store.begin() as tx:
        if not hints.add(tx, told):
            return None
        sooner = hints.bring_forward(tx, told) if told.repository and told.shas else []
        if sooner:
            wake(tx)
    emit(Moment.HINTED, event=told.event, delivery=told.delivery, sooner=len(sooner))
    return len(sooner)


def forget(store: Store) -> int:
    """Delete the ids of deliveries that are too old to be sent again."""
    with store.begin() as tx:
        return hints.forget_old(tx)
