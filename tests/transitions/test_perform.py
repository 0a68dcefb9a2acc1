"""One place for idempotency: checked before anything is made, bound to the request's digest."""

from __future__ import annotations

import threading

import pytest
from fixtures.road import newest_receipt
from fixtures.world import BASE, a_ready_task, a_world

from app.domain.board import Column
from app.domain.errors import IdempotencyConflict, UnfitInput, WrongState
from app.store import attempts
from app.store.engine import Store
from app.transitions.change import LOCAL
from app.transitions.dispatch import dispatch
from app.transitions.move import move


@pytest.mark.contract("T06")
def test_the_same_key_and_request_get_the_first_answer(store: Store) -> None:
    """A client that lost its answer asks again, and nothing is added."""
    world = a_world(store)
    task = a_ready_task(store, world)

    first = dispatch(store, world, LOCAL, task, BASE, key="k1")
    before = newest_receipt(store, world)
    second = dispatch(store, world, LOCAL, task, BASE, key="k1")

    assert second == first
    assert newest_receipt(store, world) == before


@pytest.mark.contract("T06", "L8")
def test_the_same_key_with_another_request_is_a_conflict(store: Store) -> None:
    """A key names one request for ever, whatever the verb."""
    world = a_world(store)
    task = a_ready_task(store, world)
    move(store, world, LOCAL, task, Column.INBOX, "not yet", key="k1")
    before = newest_receipt(store, world)

    with pytest.raises(IdempotencyConflict):
        move(store, world, LOCAL, task, Column.READY, "now", key="k1")
    with pytest.raises(IdempotencyConflict):
        dispatch(store, world, LOCAL, task, BASE, key="k1")

    assert newest_receipt(store, world) == before


@pytest.mark.contract("T06")
def test_a_refused_request_does_not_use_its_key_up(store: Store) -> None:
    """What changed nothing may be asked again once it can be done."""
    world = a_world(store)
    task = a_ready_task(store, world)
    move(store, world, LOCAL, task, Column.INBOX, "not yet")
    with pytest.raises(WrongState):
        dispatch(store, world, LOCAL, task, BASE, key="k1")

    move(store, world, LOCAL, task, Column.READY, "now")

    assert dispatch(store, world, LOCAL, task, BASE, key="k1")


@pytest.mark.contract("T06")
def test_one_key_in_two_worlds_names_two_requests(store: Store) -> None:
    """Nothing crosses worlds."""
    worlds = [a_world(store), a_world(store)]
    tasks = [a_ready_task(store, world) for world in worlds]

    made = {
        dispatch(store, world, LOCAL, task, BASE, key="k1")
        for world, task in zip(worlds, tasks, strict=True)
    }

    assert len(made) == 2


@pytest.mark.contract("T06")
def test_a_key_used_by_many_at_once_is_used_once(store: Store) -> None:
    """All of them get the one attempt that was made."""
    world = a_world(store)
    task = a_ready_task(store, world)
    made: list[str] = []
    threads = [
        threading.Thread(
            target=lambda: made.append(dispatch(store, world, LOCAL, task, BASE, key="k1"))
        )
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 8
    assert len(set(made)) == 1
    with store.begin() as tx:
        latest = attempts.latest(tx, world, task)
    assert latest is not None
    assert latest.number == 1


@pytest.mark.parametrize("key", ["", "k" * 201])
def test_a_key_has_a_length(store: Store, key: str) -> None:
    """Neither nothing nor a novel."""
    world = a_world(store)
    task = a_ready_task(store, world)

    with pytest.raises(UnfitInput):
        dispatch(store, world, LOCAL, task, BASE, key=key)


@pytest.mark.contract("T06", "T07")
def test_another_reason_is_another_request(store: Store) -> None:
    """The reason is part of what was asked, and is kept with it."""
    world = a_world(store)
    task = a_ready_task(store, world)
    move(store, world, LOCAL, task, Column.INBOX, "not yet", key="k1")

    with pytest.raises(IdempotencyConflict):
        move(store, world, LOCAL, task, Column.INBOX, "never", key="k1")
