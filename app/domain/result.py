"""What is recorded of an activity, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.digest import Digest, Json, digest, parse
from app.domain.errors import UnfitInput
from app.domain.identity import ActivityKey, Fence


class Outcome(StrEnum):
    """How an activity ended; every ending is a recorded result (L9)."""

    GREEN = "green"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    CANCELED = "canceled"
    DEAD = "dead"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Observation:
    """The canonical, bounded, redacted record of what the provider did."""

    outcome: Outcome
    bytes: bytes

    @property
    def digest(self) -> Digest:
        """Its identity."""
        return digest(self.bytes)

    @property
    def value(self) -> Mapping[str, Json]:
        """The record as JSON; bytes that are no object are UnfitInput."""
        value = parse(self.bytes)
        if not isinstance(value, Mapping):
            raise UnfitInput("an observation is a JSON object")
        return value


def observation_from(data: bytes) -> Observation:
    """Read an observation back from canonical bytes, as they came from a remote or the database."""
    value = parse(data)
    outcome = value.get("outcome") if isinstance(value, Mapping) else None
    if outcome not in list(Outcome):
        raise UnfitInput("an observation names its outcome")
    return Observation(Outcome(str(outcome)), data)


@dataclass(frozen=True, slots=True)
class ResultRef:
    """The reference of a recorded result."""

    key: ActivityKey
    fence: Fence  #: of the claim that recorded it
    digest: Digest
    outcome: Outcome
