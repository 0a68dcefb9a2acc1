"""Writing a call down before it is sent; its row is the start of the effect."""

from __future__ import annotations

from app.domain.identity import Claim
from app.events import Moment, emit
from app.store import evidence
from app.store.engine import Store
from app.store.evidence import EffectCall


def call(store: Store, claim: Claim, name: str, request: bytes) -> EffectCall:
    """The row that permits one outbound call; stopped work is refused (ZF003)."""
    with store.begin() as tx:
        row = evidence.call(tx, claim, name, request)
    emit(Moment.CALLED, **claim.facts(), call=name)
    return row
