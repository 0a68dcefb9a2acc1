"""Dead letters: why each was kept, and finding the one that is meant among many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, LiteralString

import psycopg
import pytest
from fixtures.database import Clock, Database
from fixtures.letters import a_dead_attempt, a_message, a_poisoned_attempt, letter_of
from fixtures.spare import copied, dropped
from fixtures.world import (
    HEAD,
    LEASE,
    a_claim,
    a_successor,
    a_world,
    activity_of,
    an_activity,
)
from sqlalchemy import event

from app.domain.dead_letter import MEANING, OF_ACTIVITIES, LetterCause, meaning, spoken_of
from app.domain.digest import digest
from app.domain.errors import NotFound
from app.domain.identity import ActivityId, ActivityKey, Kind, WorldId
from app.domain.recovery import Stop
from app.store import claims, dead_letters
from app.store.deliveries import Cause
from app.store.engine import Store, open_store
from app.store.views.dead_letters import Sought, letters_counted, letters_listed
from app.store.views.letter import letter_seen
from app.transitions.change import LOCAL
from app.transitions.deliver import deliver
from app.transitions.dismiss import dismiss
from app.transitions.release import release
from app.transitions.start import start
from workers.concluding import NO_START_LEFT, ended

KEY = ActivityKey(WorldId("w"), Kind("missions.author"), ActivityId("a" * 64))
OF_MESSAGES = sorted(set(LetterCause) - OF_ACTIVITIES)
MANY = """
insert into fencepost.dead_letters (cause, queue, bytes, digest, size, recorded_at)
select case when n % 1000 = 0 then 'unfit_content' else 'not_json' end,
       case when n % 1000 = 1 then 'forge.pull_request' else 'missions.author' end,
       b, sha256(b), octet_length(b), clock_timestamp() - make_interval(hours => 10000 - n)
  from generate_series(1, 10000) as n,
       convert_to('number ' || n || ' ' || repeat('x', 500), 'UTF8') as b
"""


@pytest.fixture(scope="module")
def many(server: Database) -> Iterator[Store]:
    """A database with ten thousand buried messages, most of them alike."""
    database = copied(server, server)
    with database.as_owner() as owner:
        owner.execute(MANY)
        owner.execute("analyze fencepost.dead_letters")
    with closing(open_store(database.app_url, name="test-app")) as store:
        yield store
    dropped(database)


@contextmanager
def plans_of(store: Store) -> Iterator[list[str]]:
    """How each statement of these moments is carried out."""
    plans: list[str] = []

    def explain(connection: Any, cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.startswith("SELECT fencepost"):
            with cursor.connection.cursor() as other:
                other.execute(f"explain {statement}", values)
                plans.append("\n".join(row[0] for row in other.fetchall()))

    event.listen(store.engine, "after_cursor_execute", explain)
    yield plans
    event.remove(store.engine, "after_cursor_execute", explain)


@pytest.mark.contract("Q04")
def test_every_cause_has_a_sentence() -> None:
    """A code that nobody explains is no help; one of a newer release is called that."""
    assert set(MEANING) == set(LetterCause)
    assert all(words.endswith(".") for words in MEANING.values())
    assert "newer release" in meaning("no_such_cause")


def test_the_page_tells_of_every_cause() -> None:
    """Operators read docs/dead-letters.md: each code has its line there, and none too many."""
    page = (Path(__file__).parents[2] / "docs" / "dead-letters.md").read_text("utf-8")
    told = re.findall(r"^\| `(\w+)` \| an? (activity|message) \|", page, re.MULTILINE)

    assert {code for code, _ in told} == set(LetterCause)
    assert {code for code, of in told if of == "activity"} == OF_ACTIVITIES


@pytest.mark.contract("Q04", "Q09")
def test_dead_work_says_what_it_had_no_more_of(store: Store, worker_store: Store) -> None:
    """Work that used up its starts is poison; work that used up its time is not."""
    world = a_world(store)
    poisoned = a_poisoned_attempt(store, worker_store, world)
    late = a_dead_attempt(store, worker_store, world)

    with store.begin() as tx:
        first, second = (letter_seen(tx, letter_of(store, one)) for one in (poisoned, late))

    assert (first.cause, first.detail) == (
        "poison", "5 of 5 starts, and no result; the last: it fell over",
    )  # fmt: skip
    assert (second.cause, second.detail) == ("out_of_time", "0 of 5 starts, and no result")
    assert (first.attempt, first.task, first.world) == (poisoned.id, poisoned.task, world)
    assert first.activity == activity_of(store, poisoned).activity


@pytest.mark.contract("Q04")
@pytest.mark.parametrize("cause", OF_MESSAGES)
def test_a_buried_message_keeps_its_bytes(
    store: Store, worker_store: Store, cause: LetterCause
) -> None:
    """Whatever is wrong with it, its bytes, their digest and its size can be read afterwards."""
    message = b"\x80\x04\x95 not for us \x00"
    with worker_store.begin() as tx:
        number = dead_letters.bury_bytes(tx, "missions.author", cause, message)

    with store.begin() as tx:
        kept, seen = dead_letters.get(tx, number), letter_seen(tx, number)
        (line,) = letters_listed(tx, Sought(cause=cause), 10)

    assert (kept.bytes, kept.key) == (message, None)
    assert (seen.cause, seen.digest, seen.size) == (cause, digest(message), len(message))
    assert (line.id, line.cause, line.kind) == (number, cause, "missions.author")


def test_an_unknown_letter_is_not_found(store: Store) -> None:
    """A number that nobody has given is refused in words."""
    with pytest.raises(NotFound), store.begin() as tx:
        letter_seen(tx, 404)


@pytest.mark.contract("Q05")
def test_every_filter_finds_its_letters_and_no_other(
    store: Store, worker_store: Store, database: Database
) -> None:
    """World, kind, cause, age and text, alone and together; newest first."""
    here, there = a_world(store), a_world(store)
    first, second = (a_dead_attempt(store, worker_store, world) for world in (here, there))
    with worker_store.begin() as tx:
        junk = dead_letters.bury_bytes(tx, "forge.pull_request", LetterCause.NOT_JSON, b"50% Junk")
    one, two = letter_of(store, first), letter_of(store, second)
    age(database, one, "3 hours")

    def found(**sought: object) -> list[int]:
        with store.begin() as tx:
            lines = [line.id for line in letters_listed(tx, Sought(**sought), 10)]
            assert letters_counted(tx, Sought(**sought)) == len(lines)
        return lines

    assert found() == [junk, two, one]
    assert found(world=here) == [one]
    assert found(kind="missions.author") == [two, one]
    assert found(kind="forge.pull_request") == [junk]
    assert found(cause="out_of_time", world=there) == [two]
    assert found(older_than=timedelta(hours=2)) == [one]
    assert found(since=timedelta(hours=2)) == [junk, two]
    assert found(text="50% jUNK") == [junk]
    assert found(text=first.id) == [one]
    assert found(text="tidy the source") == [two, one]
    assert found(text="%") == [junk]
    assert found(text="nothing of this kind") == []
    assert found(is_open=True) == [junk, two, one]


@pytest.mark.parametrize(
    ("sought", "index"),
    [
        (Sought(), "dead_letters_pkey"),
        (Sought(is_open=True), "dead_letters_pkey"),
        (Sought(world="w_other"), "dead_letters_by_world"),
        (Sought(kind="forge.pull_request"), "dead_letters_by_kind"),
        (Sought(cause=LetterCause.UNFIT_CONTENT), "dead_letters_by_cause"),
        (Sought(since=timedelta(seconds=1)), "dead_letters_by_age"),
    ],
    ids=str,
)
def test_listing_among_ten_thousand_reads_by_an_index(
    many: Store, sought: Sought, index: str
) -> None:
    """However many letters there are, a listing reads those it shows, not all."""
    with plans_of(many) as plans, many.begin() as tx:
        letters_listed(tx, sought, 50)

    (plan,) = plans
    assert index in plan
    assert "Seq Scan on dead_letters" not in plan


def test_text_among_ten_thousand_is_found_in_time(many: Store) -> None:
    """Words can be in any letter, so all are read: within the statement's timeout."""
    with many.begin() as tx:
        assert letters_counted(tx, Sought(text="NUMBER 777 ")) == 1
        assert letters_counted(tx, Sought(text="no such words")) == 0


@pytest.mark.parametrize("part", ["whole", "body", "arguments"])
def test_what_a_message_speaks_of_is_read_from_any_part(part: str) -> None:
    """A worker may have kept the whole message, its body, or the bare arguments."""
    named = f'{{"world":"w","kind":"missions.author","activity":"{"a" * 64}","delivery":3}}'
    kept = {
        "whole": a_message(KEY, 3),
        "body": f"[[],{named},{{}}]".encode(),
        "arguments": named.encode(),
    }

    spoken = spoken_of(kept[part])

    assert spoken is not None
    assert (spoken.key, spoken.delivery) == (KEY, 3)


@pytest.mark.parametrize(
    "message",
    [
        b"", b"junk", b"{}", b"[]", b"[[],[]]", b"null", b"3", b"\xff\xfe", b"[" * 100_000,
        b'{"body":"*"}', b'{"body":3}', b'{"world":"w","kind":"k"}',
        b'{"world":"w","kind":"k","activity":"a\\u0000"}',
        b'{"world":"w","kind":"k","activity":"\\ud800"}',
        b'{"world":"' + b"w" * 65 + b'","kind":"k","activity":"a"}',
        a_message(KEY, 1)[:-30],
    ],
    ids=lambda message: repr(message[:24]),
)  # fmt: skip
def test_junk_speaks_of_nothing(message: bytes) -> None:
    """Nothing is read into bytes that name no activity, and nothing falls over them."""
    assert spoken_of(message) is None


@pytest.mark.parametrize("number", [b"0", b"-1", b"true", b'"1"', b"9223372036854775808", b"1.5"])
def test_a_delivery_that_is_no_number_is_left_out(number: bytes) -> None:
    """The identity counts; what is no delivery's number is not one."""
    spoken = spoken_of(b'{"world":"w","kind":"k","activity":"a","delivery":' + number + b"}")

    assert spoken is not None
    assert spoken.delivery is None


def age(database: Database, letter: int, by: str) -> None:
    """Let a letter be older, past every trigger."""
    with database.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        session.execute(
            "update fencepost.dead_letters set recorded_at = recorded_at - %s::interval"
            " where dead_letter_id = %s",
            (by, letter),
        )


@pytest.mark.contract("L7")
@pytest.mark.parametrize("statement", [
    "update fencepost.dismissals set reason = 'another reason'",
    "delete from fencepost.dismissals",
    "truncate fencepost.dismissals",
])  # fmt: skip
def test_a_dismissal_is_never_rewritten(
    database: Database, store: Store, statement: LiteralString
) -> None:
    """Not by its owner either; the control plane's login may not even ask."""
    with store.begin() as tx:
        letter = dead_letters.bury_bytes(tx, "missions.author", LetterCause.NOT_JSON, b"junk")
    assert dismiss(store, LOCAL, "its sender was told", [letter]) == [letter]

    for login, state in ((database.as_owner, "ZF007"), (database.as_app, "42501")):
        with login() as session, pytest.raises(psycopg.Error) as refusal:
            session.execute(statement)
        assert refusal.value.sqlstate == state


@pytest.mark.contract("Q09")
def test_a_poisoned_letter_says_what_its_last_start_ended_with(
    store: Store, worker_store: Store
) -> None:
    """Code and message of what took the last start; what came after it started nothing."""
    key = an_activity(store)
    held = a_claim(store, worker_store, key)
    with store.begin() as tx:
        assert claims.last_words(tx, key) == ""
    start(worker_store, held, HEAD)
    release(worker_store, held, "capacity: host_failed: git: no space left", timedelta(0))
    assert deliver(store, key, Cause.RELEASED)
    held = a_claim(store, worker_store, key)
    release(worker_store, held, "transient: remote_unreadable: gone", timedelta(0))

    last = "; the last: host_failed: git: no space left"
    with store.begin() as tx:
        assert claims.last_words(tx, key) == last
    run: Any = SimpleNamespace(store=worker_store, claim=held)
    seen = ended(run, Stop.CLOSE_ONLY)
    assert seen.value["frictions"] == [{"code": "poison", "detail": f"{NO_START_LEFT}{last}"}]


def test_of_a_lost_worker_the_lease_is_all_that_is_known(
    store: Store, worker_store: Store, clock: Clock
) -> None:
    """Whoever was killed had no last words."""
    held = a_claim(store, worker_store, an_activity(store))
    start(worker_store, held, HEAD)
    clock.advance(LEASE)
    a_successor(store, worker_store, held)

    with store.begin() as tx:
        assert claims.last_words(tx, held.key) == "; the last: lost_worker: its lease ran out"
