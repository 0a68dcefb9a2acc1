"""Journalling what happens while an activity runs."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.event import Entry
from app.domain.identity import Claim
from app.store import evidence
from app.store.engine import Store


def journal(store: Store, claim: Claim, first: int, entries: Sequence[Entry]) -> None:
    """Append events under the fence, in order, as one batch."""
    if not entries:
        return
    with store.begin() as tx:
        evidence.journal(tx, claim, first, entries)
