"""What is out at once, under any number of dispatchers, and how it is changed (Q02)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import redis
from fixtures.backlog import a_backlog
from fixtures.database import Clock, Database
from fixtures.stack import Stack
from fixtures.world import a_claim, a_world, an_activity, newest_delivery

from app.broker.publisher import Publisher
from app.broker.redis import Broker, worker_role
from app.dispatcher import relay
from app.domain.delivery import Delivery
from app.domain.errors import RedisUnreachable
from app.embedded.servers import Addresses
from app.kinds import author
from app.store import limits, outbox
from app.store.claims import Verdict
from app.store.engine import Store, open_store
from app.store.limits import What
from app.transitions.change import LOCAL
from app.transitions.claim import claim
from app.transitions.limit import limit
from app.transitions.take_turns import take_turns

WHY = "it is tried"


@pytest.fixture
def crowded(store: Store, database: Database) -> Store:
    """Three hundred deliveries wait."""
    a_backlog(database, a_world(store), 300)
    return store


@pytest.mark.contract("Q02")
def test_redis_holds_a_window_and_the_rest_waits_in_postgres(
    crowded: Store, broker: Broker, publisher: Publisher
) -> None:
    """The relay goes on until the window is full, and no further."""
    while relay.turn(crowded, broker, publisher, "test"):
        pass

    assert broker.depth(author.NAME) == 64
    assert out(crowded) == 64


@pytest.mark.contract("Q02")
def test_window_grows_with_the_slots_of_connected_workers(
    crowded: Store, broker: Broker, publisher: Publisher, embedded: Addresses
) -> None:
    """Every worker says in its connections' name how many slots it has; it is counted once."""
    names = [worker_role("one", 15), worker_role("one", 15), worker_role("other", 5)]
    workers = [Broker(embedded.redis_url, role=name) for name in names]
    for worker in workers:
        worker.depth(author.NAME)

    while relay.turn(crowded, broker, publisher, "test"):
        pass

    assert broker.depth(author.NAME) == 160
    for worker in workers:
        worker.close()


@pytest.mark.contract("Q02")
def test_doubled_messages_count_as_what_redis_holds(
    crowded: Store, broker: Broker, publisher: Publisher, valkey: redis.Redis
) -> None:
    """The window bounds messages, not rows: copies of them leave room for fewer."""
    limit(crowded, What.WINDOW, 10, LOCAL, WHY, queue=author.NAME)
    relay.turn(crowded, broker, publisher, "test")
    (message, *_) = valkey.lrange(author.NAME, 0, 0)
    valkey.lpush(author.NAME, *[message] * 3)
    limit(crowded, What.WINDOW, 15, LOCAL, WHY, queue=author.NAME)

    relay.turn(crowded, broker, publisher, "test")

    assert broker.depth(author.NAME) == 15
    assert out(crowded) == 12


@pytest.mark.contract("Q02")
def test_many_dispatchers_at_once_keep_to_one_window(crowded: Store, database: Database) -> None:
    """All look at an empty Redis at the same instant; together they take one window, each once."""
    at_once = threading.Barrier(8)

    def go(_: int) -> list[Delivery]:
        with closing(open_store(database.app_url, name="test-rival")) as store:
            with store.begin() as tx:
                limits.current(tx)  # connected
            at_once.wait()
            return take_turns(store, {}, 0)

    with ThreadPoolExecutor(8) as rivals:
        taken = [one for batch in rivals.map(go, range(8)) for one in batch]

    assert len(taken) == len(set(taken)) == 64


@pytest.mark.contract("Q02", "O06")
def test_two_dispatchers_follow_a_window_that_is_changed(stack: Stack) -> None:
    """As processes, over one Redis: the window holds, and a larger one holds without a restart."""
    a_backlog(stack.database, stack.world, 300)
    with closing(Broker(stack.redis_url, role="test")) as broker:
        for _ in range(2):
            stack.start_dispatcher()
        stack.until(lambda: broker.depth(author.NAME) == 64 == out(stack.store))

        limit(stack.store, What.WINDOW, 80, LOCAL, WHY, queue=author.NAME)

        stack.until(lambda: broker.depth(author.NAME) >= 80)
        assert (broker.depth(author.NAME), out(stack.store)) == (80, 80)
    forget_backlog(stack.database)


@pytest.mark.contract("Q01")
def test_a_message_that_is_there_though_publishing_failed_does_no_harm(
    store: Store, worker_store: Store, broker: Broker, publisher: Publisher
) -> None:
    """Its delivery is sent again; of both messages one gets the claim, the other a verdict."""
    key = an_activity(store)
    with pytest.raises(RedisUnreachable):
        relay.turn(store, broker, Doubtful(publisher), "test")

    relay.turn(store, broker, publisher, "test")

    assert broker.depth(author.NAME) == 2
    held = a_claim(store, worker_store, key)
    assert held.fence == 1
    again = claim(worker_store, key, newest_delivery(store, key), "worker-2")
    assert again is Verdict.DUPLICATE


@pytest.mark.contract("Q01")
def test_what_a_sender_took_and_never_confirmed_waits_again(store: Store, clock: Clock) -> None:
    """A dispatcher died between marking a batch and sending it: others send it after a while."""
    key = an_activity(store)
    assert [one.key for one in take_turns(store, {}, 0)] == [key]

    assert (relay.recall(store), take_turns(store, {}, 0)) == (0, [])
    clock.advance(outbox.SENDING)
    assert relay.recall(store) == 1

    assert [one.key for one in take_turns(store, {}, 0)] == [key]


@pytest.mark.contract("Q01")
def test_only_the_rest_of_a_batch_waits_again(
    crowded: Store, broker: Broker, publisher: Publisher
) -> None:
    """What was sent before the error is out; what was not, the doubtful one included, is not."""
    with pytest.raises(RedisUnreachable):
        relay.turn(crowded, broker, Doubtful(publisher, after=20), "test")

    assert out(crowded) == 20
    assert broker.depth(author.NAME) == 21


@pytest.mark.contract("Q03")
def test_time_to_claim_begins_when_a_delivery_is_sent(
    store: Store, worker_store: Store, clock: Clock
) -> None:
    """What has waited in Postgres for hours is not late before anybody could take it."""
    key = an_activity(store)
    clock.advance(author.LIMITS.deadline * 4)

    (taken,) = take_turns(store, {}, 0)

    assert (taken.key, taken.number) == (key, 1)
    assert a_claim(store, worker_store, key).fence == 1


class Doubtful(Publisher):
    """Sends like another one, and after so many messages says of each that it may have failed."""

    def __init__(self, publisher: Publisher, after: int = 0) -> None:
        self._publisher, self._left = publisher, after

    def send(self, delivery: Delivery) -> None:
        self._publisher.send(delivery)
        self._left -= 1
        if self._left < 0:
            raise RedisUnreachable("the reply was lost")


def out(store: Store) -> int:
    """How many deliveries of authors are out."""
    with store.begin() as tx:
        return outbox.loads(tx, {})[author.NAME].out


def forget_backlog(database: Database) -> None:
    """Take away what no road has led to, before the rows are verified."""
    with database.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        session.execute("delete from fencepost.deliveries where activity_id like 'b%'")
        session.execute("delete from fencepost.activities where activity_id like 'b%'")
