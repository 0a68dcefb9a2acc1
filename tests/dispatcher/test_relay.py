"""Between Postgres and Redis: what was sent, what may have been, and what must be sent again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import redis
from fixtures.world import an_activity, newest_delivery

from app.broker.publisher import Publisher
from app.broker.redis import Broker
from app.broker.topology import celery_app
from app.dispatcher import relay, stager
from app.dispatcher.loop import Turn
from app.domain.errors import RedisUnreachable
from app.embedded.servers import Addresses
from app.events import Event, Moment, subscribers
from app.kinds import author
from app.store.engine import Store
from app.transitions.take_turns import take_turns

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.mark.contract("Q01")
def test_a_delivery_whose_publishing_failed_is_sent_again(store: Store, broker: Broker) -> None:
    """An error proves nothing: the delivery waits again, so none is forgotten."""
    key = an_activity(store)

    with pytest.raises(RedisUnreachable):
        relay.turn(store, broker, Publisher(celery_app(NOWHERE, role="test")), "test")

    assert [one.key for one in take_turns(store, {}, 0)] == [key]


@pytest.mark.contract("L1", "Q11")
def test_a_wiped_redis_gets_its_messages_again(
    store: Store, broker: Broker, embedded: Addresses
) -> None:
    """What was sent and never claimed is replaced by a delivery of its own, and sent."""
    publisher = Publisher(celery_app(embedded.redis_url, role="test"))
    key = an_activity(store)
    assert relay.turn(store, broker, publisher, "test") == 1
    with closing(redis.Redis.from_url(embedded.redis_url)) as client:
        client.flushall()

    relay.turn(store, broker, publisher, "test")

    assert newest_delivery(store, key) == 2
    assert broker.depth(author.NAME) == 1


@pytest.mark.usefixtures("valkey")
def test_the_first_marker_is_no_wipe(
    store: Store, embedded: Addresses, publisher: Publisher, moments: list[Moment]
) -> None:
    """A Redis that was never given a message has lost none; what it is given later it can lose."""
    with closing(Broker(embedded.redis_url, role="test")) as broker:
        relay.turn(store, broker, publisher, "test")
        assert not broker.was_wiped("test")
        assert moments == []

        an_activity(store)
        relay.turn(store, broker, publisher, "test")
        with closing(redis.Redis.from_url(embedded.redis_url)) as client:
            client.flushall()
        relay.turn(store, broker, publisher, "test")

    assert moments == [Moment.BROKER_WIPED]


@pytest.fixture
def moments() -> Iterator[list[Moment]]:
    """Whatever is said of a wiped Redis."""
    heard: list[Moment] = []

    def hear(event: Event) -> None:
        if event.moment is Moment.BROKER_WIPED:
            heard.append(event.moment)

    subscribers.append(hear)
    yield heard
    subscribers.remove(hear)


@pytest.mark.contract("Q12", "Q11")
def test_trouble_with_redis_delays_only_what_needs_it(store: Store) -> None:
    """The step that sends waits and says so; the loop goes on to the others."""
    publisher = Publisher(celery_app(NOWHERE, role="test"))
    an_activity(store)
    with closing(Broker(NOWHERE, role="test")) as broker:
        sending = Turn("relay", lambda: relay.turn(store, broker, publisher, "test"))
        staging = Turn("stage", lambda: stager.turn(store))

        done = [turn.take() for turn in (sending, staging)]

    assert done == [0, 0]
    assert (sending.trouble, staging.trouble) == (1, 0)
