"""The door of a worker: what is sound passes in a form of our own, and nothing else passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import kombu
import pytest
import redis
from fixtures.junk import JUNK, NOBODYS, SOUND, damaged, named, with_body
from fixtures.valkey import Valkey
from kombu import transport
from kombu.transport import virtual

from app.broker import message
from app.broker.publisher import Publisher
from app.broker.topology import celery_app
from app.broker.transport import Door, install
from app.domain.dead_letter import LetterCause
from app.domain.delivery import Delivery
from app.kinds import author

QUEUE = author.NAME


@dataclass(frozen=True, slots=True)
class Consumer:
    """What a consumer by kombu is given, and what is buried before it."""

    url: str
    given: list[Any] = field(default_factory=list)
    buried: list[tuple[str, LetterCause, bytes]] = field(default_factory=list)

    def read(self, *messages: bytes) -> None:
        """Put messages in the queue and consume until it is empty."""
        with closing(redis.Redis.from_url(self.url)) as client:
            client.lpush(QUEUE, *messages)
            with kombu.Connection(self.url) as connection, connection.channel() as channel:
                queue = kombu.Queue(QUEUE)
                with kombu.Consumer(channel, [queue], on_message=self._take):
                    while client.llen(QUEUE) or len(self.given) + len(self.buried) < len(messages):
                        with suppress(TimeoutError):
                            connection.drain_events(timeout=0.5)

    def _take(self, one: virtual.Message) -> None:
        self.given.append(one)
        one.ack()


@pytest.fixture
def consumer(own_redis: Valkey, monkeypatch: pytest.MonkeyPatch) -> Iterator[Consumer]:
    """A consumer whose connections read through a door."""
    monkeypatch.setattr(transport, "TRANSPORT_ALIASES", dict(transport.TRANSPORT_ALIASES))
    consumer = Consumer(own_redis.url)
    install(Door(lambda *remains: consumer.buried.append(remains)))
    yield consumer
    transport._transport_cache.clear()


@pytest.mark.contract("Q04")
@pytest.mark.parametrize(("junk", "cause"), JUNK.values(), ids=JUNK.keys())
def test_junk_has_a_cause(junk: bytes, cause: LetterCause) -> None:
    """Each kind of junk is known for what it is, and none raises."""
    assert message.read(junk) is cause


def test_a_damaged_message_is_a_delivery_or_junk() -> None:
    """However a sound message is damaged, reading it raises nothing and changes no kind."""
    read = [message.read(one) for one in damaged()]

    deliveries = [one for one in read if isinstance(one, Delivery)]
    assert len(read) > 400
    assert {one.key.kind for one in deliveries} == {NOBODYS.key.kind}
    assert {LetterCause.MALFORMED, LetterCause.UNFIT_ARGUMENTS} < {*read} - {*deliveries}


def test_the_longest_delivery_is_far_from_too_large() -> None:
    """The bound lets every delivery through whose names the database would take."""
    longest = Delivery(NOBODYS.key, NOBODYS.number, "𝄞" * 200)

    assert message.read(message.written(longest, QUEUE)) == longest
    assert len(message.written(longest, QUEUE)) < message.LARGEST / 4


def test_a_message_is_written_as_celery_sends_it(own_redis: Valkey) -> None:
    """A canary: the pinned Celery sends what we read, and what we write has the same parts.

    Only who sent it, the way back and the delivery's tag differ.
    """
    Publisher(celery_app(own_redis.url, role="test")).send(NOBODYS)
    sent = own_redis.ask("RPOP", QUEUE)
    assert isinstance(sent, bytes)

    assert message.read(sent) == NOBODYS
    by_celery, by_us = json.loads(sent), json.loads(message.written(NOBODYS, QUEUE))
    for one in (by_celery, by_us):
        assert one["headers"].pop("origin")
        assert one["properties"].pop("delivery_tag")
        del one["properties"]["reply_to"]
    assert by_us == by_celery


@pytest.mark.contract("Q04")
def test_only_sound_messages_reach_celery(consumer: Consumer) -> None:
    """A canary: the pinned kombu reads through the door, and never sees what lies before it."""
    consumer.read(SOUND, *(junk for junk, _ in JUNK.values()), SOUND)

    assert consumer.buried == [(QUEUE, cause, junk) for junk, cause in JUNK.values()]
    first, second = (json.loads(one.body) for one in consumer.given)
    assert first == second
    assert first[1]["activity"] == NOBODYS.key.activity


def test_what_else_a_message_asks_for_is_left_out(consumer: Consumer) -> None:
    """A time, a callback or another name in a sound delivery are not passed on."""
    chained = {"callbacks": [{"task": "celery.map"}], "errbacks": None, "chain": None}

    consumer.read(with_body([[], named(), chained], eta="2099-01-01T00:00:00", shadow="x"))

    (given,) = consumer.given
    assert (given.headers["eta"], given.headers["shadow"]) == (None, None)
    assert set(json.loads(given.body)[2].values()) == {None}


def test_the_same_bytes_twice_get_a_tag_each(consumer: Consumer) -> None:
    """Two copies of one message never share the tag by which Celery tells them apart."""
    consumer.read(SOUND, SOUND)

    first, second = consumer.given
    assert first.delivery_tag != second.delivery_tag


def test_the_schemes_of_urls_stay(consumer: Consumer) -> None:
    """Flower and Celery choose their ways by the scheme, which the door does not change."""
    with kombu.Connection(consumer.url) as connection:
        assert connection.as_uri().startswith("redis://")
        assert connection.transport.driver_type == "redis"
