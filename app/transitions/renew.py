"""Renewing the leases of one process."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.identity import Claim
from app.events import Moment, emit
from app.store import claims
from app.store.claims import Renewed
from app.store.engine import Store


def renew(store: Store, held: Sequence[Claim]) -> list[Renewed]:
    """Prolong them all in one statement; a claim that is not returned has lost its authority."""
    with store.ask() as tx:
        renewed = claims.renew(tx, held)
    emit(Moment.RENEWED, renewed=len(renewed), lost=len(held) - len(renewed))
    return renewed
