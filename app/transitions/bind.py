"""Binding the provider operation, before any effect."""

from __future__ import annotations

from app.domain.identity import Claim, OperationId
from app.events import Moment, emit
from app.store import evidence
from app.store.engine import Store


def bind(store: Store, claim: Claim, operation: OperationId) -> None:
    """Name the provider's operation, once, under a live fence; another name is DigestConflict."""
    with store.begin() as tx:
        evidence.bind(tx, claim, operation)
    emit(Moment.BOUND, **claim.facts(), operation=operation)
