"""Replaying dead letters: once each, with a reason, and never what has ended (Q05)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import psycopg
import pytest
from fixtures.database import Database
from fixtures.letters import (
    a_dead_attempt,
    a_message,
    end_as_dead,
    letter_of,
    replays_of,
)
from fixtures.road import count, ended, newest_receipt
from fixtures.world import (
    BASE,
    Attempt,
    a_claim,
    a_world,
    activity_of,
    an_activity,
    catch_up,
    newest_delivery,
)
from sqlalchemy import select

from app.domain.dead_letter import LetterCause
from app.domain.digest import Json
from app.domain.errors import FencepostError
from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, WorldId
from app.kinds import author
from app.store import activities, attempts, dead_letters, deliveries
from app.store.engine import Store
from app.store.schema import attempts as attempt_rows
from app.store.schema import deliveries as delivery_rows
from app.store.schema import receipts, replays, results, settlements
from app.store.views.letter import letter_behind, letter_seen
from app.store.views.story import story_of
from app.transitions.change import LOCAL
from app.transitions.claim import claim
from app.transitions.hold import hold
from app.transitions.replay import Asked, Replayed, replay
from app.transitions.retry import retry

ASKED = Asked(LOCAL, "the mirror is warm now", "after lunch")


def again(store: Store, letter: int, asked: Asked = ASKED) -> Replayed:
    """Replay a letter on the base of all tests."""
    return replay(store, asked, letter, lambda world, task: BASE)


def buried(store: Store, message: bytes) -> int:
    """The letter of a message."""
    with store.begin() as tx:
        return dead_letters.bury_bytes(tx, author.NAME, LetterCause.UNKNOWN_VERSION, message)


@pytest.mark.contract("Q05", "T03", "T04", "L7")
def test_dead_work_is_replayed_as_another_attempt(store: Store, worker_store: Store) -> None:
    """The dead one stays dead; the new one has actor and reason, and each tells of the other."""
    dead = a_dead_attempt(store, worker_store)
    letter = letter_of(store, dead)

    done = again(store, letter)

    new = Attempt(dead.world, dead.task, str(done.replay.attempt))
    assert done.is_new
    assert (ended(store, dead), ended(store, new)) == ("dead", None)
    receipt = newest_receipt(store, dead.world)
    subject = cast("dict[str, Json]", receipt["subject"])
    assert (receipt["verb"], receipt["actor"], receipt["reason"]) == ("retry", LOCAL, ASKED.reason)
    assert (subject["letter"], subject["of"], subject["attempt"]) == (letter, dead.id, new.id)
    with store.begin() as tx:
        row = attempts.get(tx, new.world, new.id)
        seen, behind = letter_seen(tx, letter), letter_behind(tx, new.world, new.id)
        told = [entry.what for entry in story_of(tx, activity_of(store, dead))]
    assert (row.number, row.actor, row.reason) == (2, LOCAL, ASKED.reason)
    assert seen.replay is not None
    assert (seen.replay.attempt, seen.replay.batch) == (new.id, ASKED.batch)
    assert behind == seen
    assert told[-2:] == ["activity.settled", "letter.replayed"]
    assert "letter.kept" in told


@pytest.mark.contract("Q05", "L5", "L9")
def test_a_replay_never_revives_what_has_settled(store: Store, worker_store: Store) -> None:
    """The dead activity gets no delivery, no fence and no other result; new work has new names."""
    dead = a_dead_attempt(store, worker_store)
    key = activity_of(store, dead)
    before = (newest_delivery(store, key), fence_of(store, key), count(store, results))

    done = again(store, letter_of(store, dead))
    catch_up(store, dead.world)

    assert (newest_delivery(store, key), fence_of(store, key), count(store, results)) == before
    new = activity_of(store, Attempt(dead.world, dead.task, str(done.replay.attempt)))
    assert new != key


@pytest.mark.contract("Q05")
def test_a_letter_that_was_replayed_is_not_replayed_again(
    store: Store, worker_store: Store
) -> None:
    """The second time says what came of it the first time; the third letter of a task is new."""
    dead = a_dead_attempt(store, worker_store)
    letter = letter_of(store, dead)
    first = again(store, letter)
    before = newest_receipt(store, dead.world)

    second = again(store, letter)
    other = again(store, letter, replace(ASKED, batch="another", reason="for another reason"))

    assert (second.is_new, other.is_new) == (False, False)
    assert second.replay.attempt == other.replay.attempt == first.replay.attempt
    assert newest_receipt(store, dead.world) == before
    new = Attempt(dead.world, dead.task, str(first.replay.attempt))
    catch_up(store, dead.world)
    end_as_dead(store, worker_store, new)
    assert again(store, letter_of(store, new)).is_new


@pytest.mark.contract("Q05", "T05")
def test_of_many_who_replay_at_once_one_does(
    store: Store, worker_store: Store, database: Database
) -> None:
    """Eight threads, one letter: one attempt, and all are told which."""
    dead = a_dead_attempt(store, worker_store)
    letter = letter_of(store, dead)

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: again(store, letter), range(8)))

    assert sum(one.is_new for one in done) == 1
    assert len({one.replay.attempt for one in done}) == 1
    assert list(replays_of(store)) == [letter]


@pytest.mark.contract("Q05", "L8")
def test_a_rehearsal_changes_nothing(store: Store, worker_store: Store) -> None:
    """A dry run says what would be done, or why not, and no table is another afterwards."""
    dead = a_dead_attempt(store, worker_store)
    key = an_activity(store, a_world(store))
    letters = [letter_of(store, dead), buried(worker_store, a_message(key, 1))]
    before = everything(store)

    done = [again(store, one, replace(ASKED, is_rehearsal=True)) for one in letters]

    assert all(one.is_new for one in done)
    assert everything(store) == before


@pytest.mark.contract("Q05", "Q04")
def test_a_buried_message_is_delivered_again(store: Store, worker_store: Store) -> None:
    """Its activity gets another delivery, which can be claimed; the buried one cannot any more."""
    key = an_activity(store)
    letter = buried(worker_store, a_message(key, 1, v=2))

    done = again(store, letter)

    assert (done.is_new, done.replay.attempt, done.replay.delivery) == (True, None, 2)
    assert again(store, letter).is_new is False
    with store.begin() as tx:
        under_way = deliveries.open_number(tx, key)
        told = [entry.what for entry in story_of(tx, key)]
    assert under_way == 2
    assert "letter.replayed" in told
    assert claim(worker_store, key, DeliveryNumber(1), "worker-1") == "superseded"
    assert a_claim(store, worker_store, key).fence == 1


@pytest.mark.contract("Q05", "L8")
def test_letters_that_cannot_be_replayed_are_refused(store: Store, worker_store: Store) -> None:
    """Each for a reason of its own, with what to do; nothing is changed by it."""
    world = a_world(store)
    settled = a_dead_attempt(store, worker_store, world)
    claimed, held, delivered = (an_activity(store, world) for _ in range(3))
    a_claim(store, worker_store, claimed)
    unsure = a_claim(store, worker_store, held)
    hold(worker_store, unsure, "ref_missing", "somebody removed the ref")
    again(store, buried(worker_store, a_message(delivered, 1)))
    nobody = replace(delivered, activity=ActivityId("f" * 64))
    elsewhere = replace(delivered, world=WorldId("w_elsewhere"))
    letters = {
        buried(worker_store, message): code
        for message, code in [
            (b"{", "nothing_to_replay"),
            (b'{"world":"w","kind":"k","activity":"a\\u0000"}', "nothing_to_replay"),
            (a_message(nobody, 1), "unknown_identity"),
            (a_message(elsewhere, 1), "unknown_identity"),
            (a_message(activity_of(store, settled), 1), "letter_ended"),
            (a_message(claimed, 1), "letter_superseded"),
            (a_message(held, 1), "letter_held"),
            (a_message(delivered, 1), "letter_superseded"),
        ]
    }
    before = everything(store)

    assert {letter: refusal(store, letter) for letter in letters} == letters
    assert everything(store) == before


@pytest.mark.contract("Q05", "T02", "T03", "L8")
def test_dead_work_that_may_not_be_retried_is_refused(store: Store, worker_store: Store) -> None:
    """Superseded, still active, without approval, or gone: the retry's own rules decide."""
    dead = a_dead_attempt(store, worker_store)
    letter = letter_of(store, dead)
    assert refusal(store, letter, replace(ASKED, reason="because")) == "no_recovery_reason"
    assert refusal(store, letter + 100) == "not_found"
    assert refusal(store, letter, replace(ASKED, batch="x" * 201)) == "unfit_input"
    before = everything(store)

    newer = retry(store, dead.world, LOCAL, dead.task, BASE, "by hand this time")
    assert refusal(store, letter) == "letter_superseded"
    catch_up(store, dead.world)
    end_as_dead(store, worker_store, Attempt(dead.world, dead.task, newer))

    assert refusal(store, letter) == "letter_superseded"
    assert replays_of(store) == {}
    assert everything(store)["replays"] == before["replays"]


@pytest.mark.contract("Q05", "T06")
def test_a_batch_has_one_asker_and_one_reason(store: Store, worker_store: Store) -> None:
    """A batch that goes on is the same batch; for another reason it needs another name."""
    world = a_world(store)
    first, second = (a_dead_attempt(store, worker_store, world) for _ in range(2))
    again(store, letter_of(store, first))

    other = replace(ASKED, reason="for quite another reason")
    assert refusal(store, letter_of(store, second), other) == "idempotency_conflict"
    assert again(store, letter_of(store, second)).is_new


@pytest.mark.contract("L7", "S02")
@pytest.mark.parametrize(
    "statement",
    [
        "update fencepost.replays set reason = 'it was for another reason'",
        "delete from fencepost.replays",
        "truncate fencepost.replays",
    ],
)
def test_a_replay_is_never_rewritten(
    store: Store, worker_store: Store, database: Database, statement: str
) -> None:
    """Not even by the owner; the other logins lack the right."""
    again(store, letter_of(store, a_dead_attempt(store, worker_store)))

    for login, state in (("owner", "ZF007"), ("app", "42501"), ("worker", "42501")):
        with (
            database.connect(getattr(database, f"{login}_url")) as session,
            pytest.raises(psycopg.DatabaseError) as refused,
        ):
            session.execute(statement)
        assert refused.value.sqlstate == state


def refusal(store: Store, letter: int, asked: Asked = ASKED) -> str:
    """The code with which a replay is refused; it says what to do."""
    with pytest.raises(FencepostError) as refused:
        again(store, letter, asked)
    assert refused.value.message
    return refused.value.code


def fence_of(store: Store, key: ActivityKey) -> int:
    """An activity's newest fence."""
    with store.begin() as tx:
        return activities.get(tx, key).fence


def everything(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """What a replay could have changed."""
    tables = (attempt_rows, delivery_rows, receipts, replays, results, settlements)
    with store.begin() as tx:
        return {
            table.name: sorted(map(tuple, tx.execute(select(table))), key=str) for table in tables
        }
