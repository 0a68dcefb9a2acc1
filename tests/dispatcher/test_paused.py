"""A paused queue lets nothing begin, whatever is in Redis and whoever is started again (Q02)."""

from __future__ import annotations

from contextlib import closing

import pytest
from fixtures.backlog import a_backlog
from fixtures.database import Database
from fixtures.stack import Stack
from fixtures.world import a_claim, a_world, an_activity, newest_delivery

from app.broker.publisher import Publisher
from app.broker.redis import Broker
from app.dispatcher import reaper, relay
from app.domain.errors import NotFound, WrongState
from app.domain.identity import Claim, DeliveryNumber, Kind
from app.kinds import author, command, pull_request
from app.store.claims import Verdict
from app.store.engine import Store
from app.transitions.change import LOCAL
from app.transitions.claim import claim
from app.transitions.pause_queue import pause_queue
from app.transitions.resume_queue import resume_queue
from app.transitions.take_turns import take_turns

WHY = "the mirror is repaired"
pytestmark = pytest.mark.contract("Q02")


def test_nothing_of_a_paused_queue_is_sent(store: Store, database: Database) -> None:
    """Its neighbours go on as ever."""
    world = a_world(store)
    for kind in (author.NAME, command.NAME):
        a_backlog(database, world, 3, kind=kind)

    pause_queue(store, author.NAME, LOCAL, WHY)

    assert {one.key.kind for one in take_turns(store, {}, 0)} == {command.NAME}


@pytest.mark.contract("Q10")
def test_what_was_sent_waits_again_and_its_message_gets_a_verdict(
    store: Store, worker_store: Store, broker: Broker, publisher: Publisher
) -> None:
    """A worker that takes the message drops it; the same delivery is sent after the pause."""
    key = an_activity(store)
    relay.turn(store, broker, publisher, "test")

    assert pause_queue(store, author.NAME, LOCAL, WHY) == 1

    assert claim(worker_store, key, DeliveryNumber(1), "worker-1") is Verdict.PAUSED
    reaper.replace_lost_messages(store, broker)
    resume_queue(store, author.NAME, LOCAL, "it is repaired")
    assert [(one.key, one.number) for one in take_turns(store, {}, 0)] == [(key, 1)]
    assert isinstance(claim(worker_store, key, DeliveryNumber(1), "worker-1"), Claim)


def test_what_runs_goes_on_and_is_refused_for_its_own_reason(
    store: Store, worker_store: Store
) -> None:
    """A pause takes no claim away, and hides no duplicate."""
    held = a_claim(store, worker_store)

    assert pause_queue(store, author.NAME, LOCAL, WHY) == 0

    again = claim(worker_store, held.key, newest_delivery(store, held.key), "worker-2")
    assert again is Verdict.DUPLICATE


@pytest.mark.contract("L8")
def test_pausing_what_is_paused_and_resuming_what_is_not_changes_nothing(store: Store) -> None:
    """The first pause keeps its reason; a queue that is none is not found."""
    with pytest.raises(WrongState):
        resume_queue(store, author.NAME, LOCAL, WHY)
    pause_queue(store, author.NAME, LOCAL, WHY)

    with pytest.raises(WrongState, match=WHY):
        pause_queue(store, author.NAME, LOCAL, "lunch")
    with pytest.raises(NotFound):
        pause_queue(store, Kind("missions.nobody"), LOCAL, WHY)


@pytest.mark.contract("O06")
def test_a_pause_outlasts_dispatchers_and_workers(stack: Stack) -> None:
    """Sent, paused, everybody killed and started again: nothing begins until it is resumed."""
    first = stack.start_dispatcher()
    attempt = stack.seen(stack.dispatch(f"{stack.counted('ran')}; echo 'y = 2' >> a.py"))
    stack.until(lambda: first.says("delivery.published"))
    pause_queue(stack.store, author.NAME, LOCAL, WHY)
    first.kill()

    again = stack.start_dispatcher()
    worker = stack.start_worker()
    with closing(Broker(stack.redis_url, role="test")) as broker:
        stack.until(lambda: worker.says("verdict=paused") and broker.depth(author.NAME) == 0)
    pause_queue(stack.store, pull_request.NAME, LOCAL, "so that a turn is seen")
    resume_queue(stack.store, pull_request.NAME, LOCAL, "it was seen")
    assert stack.count("ran") == 0
    assert not again.says("delivery.published")

    resume_queue(stack.store, author.NAME, LOCAL, "it is repaired")
    stack.until(lambda: attempt.is_over)

    assert (attempt.outcome, stack.count("ran")) == ("done", 1)
