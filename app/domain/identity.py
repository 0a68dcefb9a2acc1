"""Names of things: ids, keys, and how one is derived from another."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import NewType

from app.domain.digest import digest_of

WorldId = NewType("WorldId", str)
EntityId = NewType("EntityId", int)  #: counted per world from 1
Kind = NewType("Kind", str)  #: "missions.author"
ActivityId = NewType("ActivityId", str)
OperationId = NewType("OperationId", str)
Fence = NewType("Fence", int)
ClaimToken = NewType("ClaimToken", str)
DeliveryNumber = NewType("DeliveryNumber", int)

#: No 0/o, 1/l/i: ids are read aloud and typed.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


@dataclass(frozen=True, slots=True, order=True)
class ActivityKey:
    """The full key of an activity; a bare id means nothing (M14, M15)."""

    world: WorldId
    kind: Kind
    activity: ActivityId

    def facts(self) -> dict[str, str | int]:
        """What events may say of it."""
        return {"world": self.world, "kind": self.kind, "activity": self.activity}

    def __str__(self) -> str:
        return f"{self.kind}/{self.activity[:12]}"


@dataclass(frozen=True, slots=True)
class Claim:
    """Proof that a worker holds an activity; every fenced write asks for it."""

    key: ActivityKey
    fence: Fence  #: higher fences outdate this one
    token: ClaimToken  #: secret; the database keeps only its hash

    @property
    def token_hash(self) -> str:
        """What may be shown of the token: its SHA-256, hex."""
        return hashlib.sha256(self.token.encode()).hexdigest()

    def facts(self) -> dict[str, str | int]:
        """What events may say of it."""
        return {**self.key.facts(), "fence": self.fence}

    def __repr__(self) -> str:
        return f"Claim({self.key}, fence={self.fence})"


def mint(prefix: str) -> str:
    """A new random id that says what it names: `wo_k3v…` (60 bits)."""
    return f"{prefix}_" + "".join(secrets.choice(_ALPHABET) for _ in range(12))


def dispatch_id(entity: EntityId, sequence: int) -> ActivityId:
    """The world-local id of an entity's n-th dispatch, counted from 1 (A01)."""
    return ActivityId(hashlib.sha256(f"{entity}:{sequence}".encode()).hexdigest())


def operation_id(key: ActivityKey, provider_scope: str) -> OperationId:
    """The stable name of the effect at the provider, the same on every retry (PROTOCOL §2)."""
    return OperationId(digest_of([key.world, key.kind, key.activity, provider_scope]))
