"""The start row: the point in time after which a cancel can only reconcile."""

from __future__ import annotations

from app.domain.identity import Claim
from app.events import Moment, emit
from app.store import evidence
from app.store.engine import Store


def start(store: Store, claim: Claim, sha: str) -> None:
    """Permit one process; without this row none may run. Stopped work is refused (ZF003)."""
    with store.begin() as tx:
        evidence.start(tx, claim, sha)
    emit(Moment.STARTED, **claim.facts(), sha=sha)
