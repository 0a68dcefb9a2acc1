"""How many messages a queue may hold in Redis; the rest waits in Postgres (Q02)."""

from __future__ import annotations

from app.broker.redis import Broker

#: Messages per queue.
WINDOW = 64


def room(broker: Broker, queue: str) -> int:
    """How many more messages the window of a queue has room for."""
    return max(0, WINDOW - broker.depth(queue))
