"""Handing an activity back."""

from __future__ import annotations

from datetime import timedelta

from app import secrecy
from app.domain.identity import Claim
from app.events import Moment, emit
from app.store import claims
from app.store.engine import Store


def release(store: Store, claim: Claim, detail: str, retry_after: timedelta) -> None:
    """End the claim; the chain at the provider stays open, and another claim goes on later."""
    detail = secrecy.redacted(detail)
    with store.begin() as tx:
        claims.release(tx, claim, detail, retry_after)
    emit(Moment.RELEASED, **claim.facts(), why=detail)
