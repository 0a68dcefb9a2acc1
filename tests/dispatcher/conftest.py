"""A Redis that is empty, and this installation's way into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import redis

from app.broker.publisher import Publisher
from app.broker.redis import Broker
from app.broker.topology import celery_app
from app.embedded.servers import Addresses


@pytest.fixture
def valkey(embedded: Addresses) -> Iterator[redis.Redis]:
    """An empty Redis, spoken to directly."""
    with closing(redis.Redis.from_url(embedded.redis_url)) as client:
        client.flushall()
        yield client


@pytest.fixture
def broker(embedded: Addresses, valkey: redis.Redis) -> Iterator[Broker]:
    """An empty Redis that this installation has used before."""
    with closing(Broker(embedded.redis_url, role="test")) as broker:
        broker.mark("test")
        yield broker


@pytest.fixture
def publisher(embedded: Addresses) -> Publisher:
    """What puts messages into it."""
    return Publisher(celery_app(embedded.redis_url, role="test"))
