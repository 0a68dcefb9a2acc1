"""Writing down how a call ended."""

from __future__ import annotations

from app.domain.identity import Claim
from app.store import evidence as rows
from app.store.engine import Store
from app.store.evidence import EffectCall


def answer(store: Store, claim: Claim, to: EffectCall, outcome: str, evidence: bytes) -> None:
    """The outcome of a call, whoever sent it; the first answer stands."""
    with store.begin() as tx:
        rows.answer(tx, claim, to, outcome, evidence)
