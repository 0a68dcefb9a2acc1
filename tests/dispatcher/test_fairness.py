"""Worlds take turns: none waits behind another's backlog, however long it is (Q02)."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest
from fixtures.backlog import a_backlog
from fixtures.database import Database
from fixtures.world import a_world

from app.domain.delivery import Delivery
from app.domain.identity import WorldId
from app.kinds import author, pull_request
from app.store import outbox
from app.store.engine import Store
from app.store.limits import What
from app.transitions.change import LOCAL
from app.transitions.limit import limit
from app.transitions.take_turns import take_turns

pytestmark = pytest.mark.contract("Q02")

LIFE = timedelta(minutes=15)


def take(store: Store, room: int) -> list[Delivery]:
    """What the relay would send next, had the window so much room."""
    with store.begin() as tx:
        outbox.lock(tx)
        return outbox.take(tx, author.NAME, room, LIFE)


@pytest.mark.parametrize("room", [1, 2, 7, 64])
def test_a_world_waits_for_nobodys_backlog(store: Store, database: Database, room: int) -> None:
    """Behind a backlog of 100,000 two newcomers' deliveries are among the next six."""
    first, crowded, last = sorted(a_world(store) for _ in range(3))
    a_backlog(database, crowded, 100_000)
    take(store, 64)
    for newcomer in (first, last):
        a_backlog(database, newcomer, 1)

    sent = [world_of(one) for _ in range(-(-6 // room)) for one in take(store, room)]

    assert {first, last} <= set(sent[:6])


@pytest.mark.parametrize("seed", range(6))
def test_with_w_worlds_waiting_each_is_among_the_next_two_w(
    store: Store, database: Database, seed: int
) -> None:
    """Whoever comes and goes, with whatever backlog, and however much room there is at a time."""
    dice = random.Random(seed)
    worlds = [a_world(store) for _ in range(dice.randint(2, 9))]
    waiting: Counter[WorldId] = Counter()
    sent: list[WorldId] = []
    looks: list[tuple[int, frozenset[WorldId]]] = []  # how many were sent before, who waits
    for number in range(60):
        if dice.random() < 0.4 or not +waiting:
            world, size = dice.choice(worlds), dice.choice((1, 1, 2, 5, 40))
            a_backlog(
                database, world, size, prefix=f"{number}-", priority=dice.choice((1, 5, 5, 9))
            )
            waiting[world] += size
        looks.append((len(sent), frozenset(+waiting)))
        taken = [world_of(one) for one in take(store, dice.choice((1, 1, 1, 2, 5, 30)))]
        waiting.subtract(taken)
        sent += taken
    while taken := [world_of(one) for one in take(store, 10)]:
        sent += taken

    late = [
        (before, world)
        for before, here in looks
        for world in here
        if sent.index(world, before) - before >= 2 * most_waiting(looks, before, sent, world)
    ]
    assert late == []
    assert not +waiting - Counter(sent[looks[-1][0] :])


def most_waiting(
    looks: list[tuple[int, frozenset[WorldId]]], before: int, sent: list[WorldId], world: WorldId
) -> int:
    """The most worlds that waited at once, from a look on until the world was served."""
    served = sent.index(world, before)
    return max(len(here) for at, here in looks if before <= at <= served)


def test_a_worlds_most_urgent_goes_first_and_starves_no_other_world(
    store: Store, database: Database
) -> None:
    """Priority orders a world's own work; it is not a way past the others."""
    eager, plain = a_world(store), a_world(store)
    a_backlog(database, eager, 20, prefix="late", priority=9)
    a_backlog(database, eager, 20, prefix="soon", priority=1)
    a_backlog(database, plain, 4, priority=5)

    sent = take(store, 8)

    assert [one.key.activity[:4] for one in sent if world_of(one) == eager] == ["soon"] * 4
    assert Counter(map(world_of, sent)) == {eager: 4, plain: 4}


def test_what_is_not_due_yet_is_in_nobodys_way(store: Store, database: Database) -> None:
    """Ten thousand pauses after failures hide no delivery that is due."""
    world = a_world(store)
    a_backlog(database, world, 10_000, prefix="rests", due=timedelta(hours=1), priority=1)
    a_backlog(database, world, 3, prefix="is due")

    assert [one.key.activity for one in take(store, 64)] == ["is due1", "is due2", "is due3"]


def test_queues_take_turns_where_a_limit_on_all_binds(store: Store, database: Database) -> None:
    """A backlog of authors does not keep requests from being opened."""
    world = a_world(store)
    limit(store, What.RUNNING, 1, LOCAL, "one at a time")
    for kind in (author.NAME, pull_request.NAME):
        a_backlog(database, world, 50, kind=kind, prefix=kind)

    kinds = [run_one(store, database).key.kind for _ in range(6)]

    assert Counter(kinds) == {author.NAME: 3, pull_request.NAME: 3}


def run_one(store: Store, database: Database) -> Delivery:
    """The one delivery that may be out; it is claimed and over at once."""
    (taken,) = take_turns(store, {}, 0)
    with database.as_superuser() as session:
        session.execute("update fencepost.deliveries set claimed_fence = 1"
                        " where published_at is not null")  # fmt: skip
    return taken


def world_of(delivery: Delivery) -> WorldId:
    return delivery.key.world
