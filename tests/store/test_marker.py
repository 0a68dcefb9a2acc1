"""The completion record: last of its batch, whole, and the only thing that settles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import pytest
from fixtures.road import (
    carry_out,
    count,
    newest_marker,
    newest_receipt,
)
from fixtures.world import (
    Attempt,
    a_claim,
    a_result,
    activity_of,
    author_observation,
    catch_up,
    observe,
)

from app.domain.digest import Json, digest, parse
from app.domain.identity import EntityId, dispatch_id
from app.domain.world import Fact
from app.events import Event, Moment, subscribers
from app.kinds import author, pull_request
from app.kinds.base import Staging
from app.store import activities, worlds
from app.store.engine import Store
from app.store.schema import settlements
from app.store.worlds import StoredSnapshot
from app.transitions.admit import project
from app.transitions.change import DISPATCHER, LOCAL, Command, changing
from app.transitions.stage import stage
from app.transitions.tick import tick

FORGE = Command("forge", LOCAL, {})


@pytest.fixture
def moments() -> Iterator[list[Event]]:
    """What is said while the test runs."""
    heard: list[Event] = []
    subscribers.append(heard.append)
    yield heard
    subscribers.remove(heard.append)


@pytest.mark.contract("A03", "A10")
def test_marker_is_last_and_names_everything(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """The completion record comes after every fact of its result and names each by its digest."""
    seen = author_observation()
    carry_out(store, worker_store, attempt, seen)
    receipt = newest_receipt(store, attempt.world)
    rows = cast("list[list[Json]]", receipt["facts"])
    components = [row[1] for row in rows]
    last = components.index("CompleteAuthorActivityObservation")
    marker = newest_marker(store, attempt.world)

    assert components[last + 1 :] == ["PullRequestDispatch"]  # a processor's, not the result's
    assert marker.version == 2
    assert marker.value["result"] == seen.digest
    assert marker.value["facts"] == sorted(rows[:last])
    assert marker.value["entities"] == receipt["entities"]
    assert marker.value["relations"] == sorted(cast("list[list[Json]]", receipt["relations"]))


TAMPERED: dict[str, Callable[[dict[str, Json]], dict[str, Json]]] = {
    "another result": lambda value: {**value, "result": digest(b"another")},
    "another outcome": lambda value: {**value, "outcome": "failed"},
    "another kind": lambda value: {**value, "kind": pull_request.NAME},
    "no such activity": lambda value: {**value, "activity": dispatch_id(EntityId(99), 1)},
    "an activity alone": lambda value: {"kind": value["kind"], "activity": value["activity"]},
    "no facts": lambda value: {**value, "facts": []},
    "no relations": lambda value: {**value, "relations": []},
    "facts of another receipt": lambda value: value,
}


@pytest.mark.contract("A03", "M11")
@pytest.mark.parametrize("how", TAMPERED)
def test_marker_that_does_not_hold_settles_nothing(
    store: Store, worker_store: Store, attempt: Attempt, moments: list[Event], how: str
) -> None:
    """A completion record that does not agree with result and receipt settles nothing, aloud."""
    held = a_claim(store, worker_store, activity_of(store, attempt))
    stage(store, [a_result(worker_store, held, author_observation())])
    tick(store, attempt.world)
    genuine = newest_marker(store, attempt.world)

    with store.begin() as tx, changing(tx, attempt.world, FORGE) as change:
        value = TAMPERED[how](dict(genuine.value))
        change.world.put(change.world.spawn(), genuine.component, genuine.version, value)
    last = cast("int", newest_receipt(store, attempt.world)["tick"])
    project(store, attempt.world, range(last, last + 1))

    assert count(store, settlements) == 0
    assert [event.moment for event in moments][-1] is Moment.TROUBLE


@pytest.mark.contract("A03", "M11")
@pytest.mark.parametrize("part", ["facts", "entities", "relations"])
def test_marker_that_names_a_part_settles_nothing(
    store: Store, worker_store: Store, attempt: Attempt, moments: list[Event], part: str
) -> None:
    """A completion record that leaves out one fact, entity or edge of its result does not hold."""
    held = a_claim(store, worker_store, activity_of(store, attempt))
    seen = author_observation()
    recorded = a_result(worker_store, held, seen)
    with store.begin() as tx:
        request = cast("Mapping[str, Json]", parse(activities.get(tx, held.key).request))
        with changing(tx, attempt.world, FORGE) as change:
            whole = author.stage(change.world, Staging(request, recorded, seen))
            change.world.added.facts.remove(whole)
            value = {**whole.value, part: cast("list[Json]", whole.value[part])[1:]}
            change.world.put(whole.entity, whole.component, whole.version, value)

    catch_up(store, attempt.world)

    assert count(store, settlements) == 0
    assert [event.moment for event in moments][-1] is Moment.TROUBLE


@pytest.mark.contract("A10")
def test_marker_of_version_one_resolves_and_settles_nothing(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """A row of the older record stays readable in every later snapshot, and has no effect."""
    held = a_claim(store, worker_store, activity_of(store, attempt))
    recorded = a_result(worker_store, held, author_observation())
    component, version = author.MARKER_V1
    value: dict[str, Json] = {"activity": held.key.activity, "result": recorded.digest}
    with (
        store.begin() as tx,
        changing(tx, attempt.world, Command("observe", DISPATCHER, {})) as change,
    ):
        entity = change.world.spawn()
        change.world.put(entity, component, version, value)

    catch_up(store, attempt.world)

    assert count(store, settlements) == 0
    observe(store, attempt.world)
    with store.begin() as tx:
        newest = worlds.lock(tx, attempt.world).tick
        found = StoredSnapshot(tx, attempt.world, newest).fact(entity, component)
    assert found == Fact(entity, component, version, value)
