"""Keeping an artifact of a run."""

from __future__ import annotations

from app.domain.identity import Claim
from app.store import evidence
from app.store.engine import Store


def keep(
    store: Store, claim: Claim, name: str, media_type: str, data: bytes, key: str | None = None
) -> None:
    """Keep bytes under the fence, addressed by their digest.

    The exact repeat adds nothing; other bytes under the same name or key are a DigestConflict. Too
    many are an ArtifactLimit.
    """
    with store.begin() as tx:
        evidence.keep(tx, claim, name, media_type, data, key)
