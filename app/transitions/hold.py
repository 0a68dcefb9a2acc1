"""Holding an activity whose outcome nothing proves."""

from __future__ import annotations

from app import secrecy
from app.domain.identity import Claim
from app.events import Moment, emit
from app.store import claims
from app.store.engine import Store


def hold(store: Store, claim: Claim, code: str, detail: str) -> None:
    """Open an unknown for a person and end the claim; no further claim until it is decided."""
    with store.begin() as tx:
        claims.hold(tx, claim, code, secrecy.redacted(detail))
    emit(Moment.HELD, **claim.facts(), code=code)
