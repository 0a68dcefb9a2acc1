"""Held work at the command line: listed, shown, and decided by one person of two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.spare import copied, dropped
from fixtures.waiting import until
from fixtures.world import (
    Attempt,
    a_claim,
    a_dispatched_attempt,
    activity_of,
    author_observation,
    catch_up,
    observe,
)

from app.domain.authority import Scope
from app.domain.digest import canonical, parse
from app.domain.identity import ActivityKey, Claim, OperationId
from app.kinds import author, pull_request
from app.store import activities
from app.store.engine import Store, open_store
from app.store.schema import receipts
from app.transitions.bind import bind
from app.transitions.call import call
from app.transitions.create_token import create_token
from app.transitions.hold import hold
from app.transitions.open_world import open_world
from app.transitions.record import record
from app.transitions.start import start

WHY = ("--reason", "looked at the forge myself")


@dataclass(frozen=True, slots=True)
class Inbox:
    """A database in which three things wait for a person."""

    store: Store
    worker: Store
    call: Attempt  #: its pull request has a call without an answer
    others: tuple[Attempt, ...]  #: their authors' claims kept ending

    def key(self) -> ActivityKey:
        return activity_of(self.store, self.call, pull_request.NAME)


@pytest.fixture
def inbox(server: Database) -> Iterator[tuple[Inbox, Database]]:
    """Real claims that were held."""
    database = copied(server, server)
    with (
        closing(open_store(database.app_url, name="test-app")) as store,
        closing(open_store(database.worker_url, name="test-worker")) as worker,
    ):
        world = open_world(store, "default")
        unsure, *others = (a_dispatched_attempt(store, world) for _ in range(3))
        catch_up(store, world)
        ran = a_claim(store, worker, activity_of(store, unsure, author.NAME))
        begin(store, worker, ran)
        record(worker, ran, author_observation())
        observe(store, world)
        asked = a_claim(store, worker, activity_of(store, unsure, pull_request.NAME))
        bound(store, worker, asked)
        call(worker, asked, "create_pull_request", canonical({"title": "Tidy"}))
        hold(worker, asked, "unresolved_call", "no request appeared in the window")
        for one in others:
            tired = a_claim(store, worker, activity_of(store, one, author.NAME))
            hold(worker, tired, "claims_keep_ending", "capacity: host_failed: the disk is full")
        yield Inbox(store, worker, unsure, tuple(others)), database
    dropped(database)


@pytest.fixture
def fencepost(inbox: tuple[Inbox, Database], tmp_path: Path) -> Fencepost:
    """The command line on that database."""
    return Fencepost(tmp_path / "home", {"FENCEPOST_DATABASE_URL": inbox[1].app_url})


def test_what_waits_is_listed_and_shown_with_what_may_be_decided(
    fencepost: Fencepost, inbox: tuple[Inbox, Database]
) -> None:
    """Age, kind, code, attempt, repository; what was tried; each decision with what follows."""
    waiting, _ = inbox
    listed = fencepost("unknown", "list")
    filtered = fencepost("unknown", "list", "--code", "unresolved_call", "--json")
    shown = fencepost("unknown", "show", waiting.call.id)
    missing = fencepost("unknown", "show", "zz")

    header, *rows = listed.out.splitlines()
    assert (listed.code, len(rows)) == (0, 3)
    assert 2 <= len([name for name in header.split("  ") if name]) <= 8
    assert "next: fencepost unknown show" in listed.err
    (one,) = filtered.value
    assert (one["id"], one["attempt"]) == (f"{waiting.key().activity}.1", waiting.call.id)
    assert list(one["decisions"]) == ["look_again", "attest_absence", "abandon"]
    for words in (
        "no request appeared in the window", "call 1.1 to the forge: create_pull_request",
        "fence 1 taken by worker-1", "attest_absence  the next claim looks, moves the branch",
        "humanize",
    ):  # fmt: skip
        assert words in shown.out
    assert f"next: fencepost unknown resolve {waiting.key().activity[:12]}.1" in shown.out
    assert (missing.code, "(no_open_unknown)" in missing.err) == (2, True)


@pytest.mark.contract("L8", "L10")
def test_a_decision_is_taken_once_and_told(
    fencepost: Fencepost, inbox: tuple[Inbox, Database]
) -> None:
    """A dry run first; a wrong one is refused; the second is told who was first."""
    waiting, _ = inbox
    name = f"{waiting.key().activity[:10]}.1"
    resolve = ("unknown", "resolve", name)

    dry = fencepost(*resolve, "--decision", "abandon", *WHY, "--dry-run")
    wrong = fencepost(*resolve, "--decision", "adopt", "--request", "1", *WHY)
    silent = fencepost(*resolve, "--decision", "abandon")
    blank = fencepost(*resolve, "--decision", "abandon", "--reason", " ")
    assert (dry.code, "removes the branch" in dry.out) == (0, True)
    assert (wrong.code, "(decision_not_allowed)" in wrong.err) == (2, True)
    assert (silent.code, blank.code, "(reason_missing)" in blank.err) == (2, 2, True)

    done = fencepost(*resolve, "--decision", "attest_absence", *WHY, "--key", "k", "--json")
    again = fencepost(*resolve, "--decision", "attest_absence", *WHY, "--key", "k")
    late = fencepost(*resolve, "--decision", "abandon", *WHY)

    assert (done.code, done.lines[0]["code"], again.code) == (0, None, 0)
    assert (late.code, "(already_decided)" in late.err) == (2, True)
    assert "local has decided" in late.err
    told = f"decided by local: attest_absence, because: {WHY[1]}"
    assert told in fencepost("explain", waiting.call.id).out
    assert "in receipt" in fencepost("unknown", "show", name).out
    assert len(fencepost("unknown", "list", "--json").value) == 2


def test_many_are_decided_by_a_filter(fencepost: Fencepost, inbox: tuple[Inbox, Database]) -> None:
    """What is refused does not stop the rest, and the exit code says that there was some."""
    unclear = fencepost("unknown", "resolve", "--decision", "look_again", *WHY)
    both = fencepost("unknown", "resolve", "x", "--all", "--decision", "look_again", *WHY)
    some = fencepost("unknown", "resolve", "--all", "--decision", "attest_absence", *WHY, "--json")
    rest = fencepost("unknown", "resolve", "--code", "claims_keep_ending", "--repository",
                     "humanize", "--decision", "look_again", *WHY)  # fmt: skip

    assert (unclear.code, both.code) == (2, 2)
    assert some.code == 1
    assert sorted(str(line["code"]) for line in some.lines) == [
        "None", "decision_not_allowed", "decision_not_allowed",
    ]  # fmt: skip
    assert (rest.code, len(rest.out.splitlines())) == (0, 2)
    assert fencepost("unknown", "list").out.strip() == "nothing waits for a person"
    assert len(fencepost("unknown", "list", "--all", "--json").value) == 3


@pytest.mark.contract("S05")
def test_an_operators_token_decides_nothing(
    fencepost: Fencepost, inbox: tuple[Inbox, Database]
) -> None:
    """It takes an approver."""
    waiting, _ = inbox
    tokens = {
        scope: create_token(waiting.store, f"an-{scope}", {scope}).secret
        for scope in (Scope.OPERATOR, Scope.APPROVER)
    }
    words = ("unknown", "resolve", waiting.call.id, "--decision", "look_again", *WHY)

    refused = fencepost(*words, FENCEPOST_TOKEN=tokens[Scope.OPERATOR])
    granted = fencepost(*words, FENCEPOST_TOKEN=tokens[Scope.APPROVER])

    assert (refused.code, "(scope_missing)" in refused.err) == (2, True)
    assert granted.code == 0, granted.err


def test_of_two_persons_at_once_one_decides(
    fencepost: Fencepost, inbox: tuple[Inbox, Database]
) -> None:
    """Two processes wait for the same lock: one decision, and a refusal that says who was first."""
    waiting, database = inbox
    words = ("unknown", "resolve", waiting.call.id, *WHY, "--decision")
    with database.as_superuser() as lock, database.as_superuser() as looking:
        looking.autocommit = True
        lock.execute("select from fencepost.worlds for update")
        both = [fencepost.begin(*words, one) for one in ("attest_absence", "abandon")]
        until(lambda: blocked(looking) == 2, 30)
        lock.rollback()

    said = [(process.communicate(timeout=60)[1], process.returncode) for process in both]

    assert sorted(code for _, code in said) == [0, 2]
    (loser,) = [words for words, code in said if code == 2]
    assert "local has decided" in loser
    assert "(already_decided)" in loser
    (one,) = fencepost("unknown", "list", "--all", "--code", "unresolved_call", "--json").value
    with waiting.store.begin() as tx:
        stop = activities.get(tx, waiting.key()).stop
        decisions = tx.execute(receipts.select().where(receipts.c.verb == "resolve")).all()
    assert (one["decision"] == "abandon") == (stop is not None)
    assert len(decisions) == 1


def blocked(session: psycopg.Connection) -> int:
    """How many sessions of this database wait for a lock."""
    row = session.execute(
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock'"
    ).fetchone()
    assert row is not None
    return int(row[0])


def begin(store: Store, worker: Store, held: Claim) -> None:
    """What a worker writes down before it runs."""
    bound(store, worker, held)
    start(worker, held, "7" * 40)


def bound(store: Store, worker: Store, held: Claim) -> None:
    """Its operation, as the request names it."""
    with store.begin() as tx:
        request = parse(activities.get(tx, held.key).request)
    assert isinstance(request, dict)
    bind(worker, held, OperationId(str(request["operation"])))
