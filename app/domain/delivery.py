"""A delivery as a value: one message for one activity."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.identity import ActivityKey, DeliveryNumber


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a message names; losing, doubling or delaying it changes no outcome."""

    key: ActivityKey
    number: DeliveryNumber
    attempt: str
