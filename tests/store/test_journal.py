"""The journal of an attempt: one sequence, no gaps, a closed set of types, and keys (O04)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest
from fixtures.database import on_every_server
from fixtures.evidence import insert, present
from fixtures.world import a_claim, a_dispatched_attempt, activity_of, catch_up
from sqlalchemy import select

from app.domain.board import AttemptEnded, AttemptOutcome
from app.domain.errors import ArtifactLimit, DatabaseUnfit, DigestConflict, FencepostError
from app.domain.event import Entry, EventType
from app.domain.identity import Claim
from app.store import evidence
from app.store.engine import Store
from app.store.fencing import of_key
from app.store.schema import activities, attempt_counters
from app.store.views.artifacts import artifacts_of
from app.store.views.journal import Written, written_after
from app.transitions.change import LOCAL, Command, changing
from app.transitions.journal import journal
from app.transitions.keep import keep
from app.transitions.pause import pause, resume

pytestmark = [on_every_server, pytest.mark.contract("O04")]

SAID = Entry(EventType.TOOL, b'{"name":"grep"}')
MIB = 1024 * 1024


class Oops(Exception):
    """Whatever makes a writer roll back."""


def test_journal_has_no_gap_under_concurrent_writers_and_rollbacks(
    control: Store, worker: Store, live: Claim
) -> None:
    """Worker and control plane write at once, every third rolls back: one, two, three, ..."""
    attempt = attempt_of(control, live)
    before = len(journal_of(control, live))
    together = threading.Barrier(4)

    def as_worker(first: int) -> int:
        together.wait()
        return sum(_written(worker, live, first + 2 * n, undo=n % 3 == 0) for n in range(30))

    def as_control() -> int:
        together.wait()
        return sum(_ended(control, live, attempt, undo=n % 3 == 0) for n in range(30))

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(as_worker, first) for first in (1, 1001, 2001)]
        jobs.append(pool.submit(as_control))
        written = sum(job.result() for job in jobs)

    told = journal_of(control, live)
    assert len(told) == before + written == before + 3 * 20 * 2 + 20
    assert [one.sequence for one in told] == list(range(1, len(told) + 1))
    with control.begin() as tx:
        counted = select(attempt_counters.c.event_sequence).where(
            attempt_counters.c.world_id == live.key.world,
            attempt_counters.c.attempt_id == attempt,
        )
        assert tx.execute(counted).scalar_one() == len(told)


def test_journal_counts_all_activities_of_an_attempt_as_one(control: Store, worker: Store) -> None:
    """What the control plane decides and what a claim writes stand in one order."""
    attempt = a_dispatched_attempt(control)
    catch_up(control, attempt.world)
    held = a_claim(control, worker, activity_of(control, attempt))
    journal(worker, held, 1, [Entry(EventType.COMMAND, b"{}"), SAID])
    pause(control, attempt.world, LOCAL, attempt.id, "lunch")
    journal(worker, held, 3, [Entry(EventType.OUTPUT, b"{}")])
    resume(control, attempt.world, LOCAL, attempt.id, "lunch is over")

    told = journal_of(control, held)

    assert [(one.sequence, one.type) for one in told] == list(
        enumerate(["start", "step", "command", "tool", "pause", "output", "resume"], 1)
    )
    assert told[4].value == {"actor": LOCAL, "reason": "lunch"}


def test_journal_gives_no_number_to_a_claim_that_is_lost(
    control: Store, worker: Store, live: Claim
) -> None:
    """The fence speaks before the counter: a refused write leaves the sequence alone."""
    before = len(journal_of(control, live))
    with pytest.raises(FencepostError):
        journal(worker, replace(live, token=type(live.token)("another")), 1, [SAID])

    journal(worker, live, 1, [SAID])

    assert [one.sequence for one in journal_of(control, live)] == list(range(1, before + 2))


def test_journal_numbers_are_the_databases_alone(
    control: Store, live: Claim, session: psycopg.Connection
) -> None:
    """Neither the sequence nor the attempt can be chosen by who writes."""
    before = len(journal_of(control, live))
    present(session, live)
    insert(session, "events", live, sequence=77, attempt_id="another")
    session.commit()

    assert journal_of(control, live)[-1].sequence == before + 1


@pytest.mark.parametrize("kind", ["shrug", "Start", ""])
def test_journal_types_are_closed(worker: Store, live: Claim, kind: str) -> None:
    """A type that is not in the list is refused by the database."""
    with pytest.raises(DatabaseUnfit, match="events_type"), worker.begin() as tx:
        evidence.journal(tx, live, 1, [replace(SAID, type=kind)])  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize("table", ["events", "attempt_events"])
def test_journal_types_of_the_code_are_those_of_the_database(
    table: str, session: psycopg.Connection
) -> None:
    """Both tables hold exactly the code's list."""
    found = session.execute(
        "select pg_get_constraintdef(oid) from pg_constraint where conname = %s",
        (f"{table}_type",),
    ).fetchone()
    session.rollback()
    assert found is not None

    assert set(found[0].split("'")[1::2]) == set(EventType)


def test_journal_exact_repeat_adds_nothing(control: Store, worker: Store, live: Claim) -> None:
    """A batch that is sent twice, and a key that is used twice for the same, are written once."""
    batch = [Entry(EventType.FILE, b"{}", key="first"), SAID]
    journal(worker, live, 1, batch)
    told = journal_of(control, live)

    journal(worker, live, 1, batch)
    journal(worker, live, 3, batch[:1])

    assert journal_of(control, live) == told


@pytest.mark.parametrize(
    "other",
    [
        (1, Entry(EventType.TOOL, b'{"name":"sed"}')),
        (1, Entry(EventType.FILE, SAID.value)),
        (2, Entry(EventType.TOOL, b"{}", key="first")),
    ],
)
def test_journal_other_content_is_a_conflict(
    control: Store, worker: Store, live: Claim, other: tuple[int, Entry]
) -> None:
    """Under a number or key that is taken nothing else is recorded, and no number is used up."""
    journal(worker, live, 1, [replace(SAID, key="first")])
    told = journal_of(control, live)

    with pytest.raises(DigestConflict):
        journal(worker, live, other[0], [other[1]])

    assert journal_of(control, live) == told


def test_journal_key_is_used_once_by_two_at_once(
    control: Store, worker: Store, live: Claim
) -> None:
    """Who comes second waits for the first, and then finds its own event there."""
    before = len(journal_of(control, live))
    together = threading.Barrier(4)

    def write(number: int) -> None:
        together.wait()
        journal(worker, live, number, [replace(SAID, key="once")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(1, 5)))

    assert len(journal_of(control, live)) == before + 1


def test_artifact_repeat_adds_nothing_and_another_is_a_conflict(
    control: Store, worker: Store, live: Claim
) -> None:
    """Names within a claim, and keys within an attempt, stand for one content each."""
    keep(worker, live, "diff", "text/x-diff", b"+", key="the diff")
    keep(worker, live, "diff", "text/x-diff", b"+", key="the diff")
    with pytest.raises(DigestConflict):
        keep(worker, live, "diff", "text/x-diff", b"-", key="the diff")
    with pytest.raises(DigestConflict):
        keep(worker, live, "another", "text/x-diff", b"-", key="the diff")

    with control.begin() as tx:
        kept = artifacts_of(tx, live.key.world, attempt_of(control, live))
    assert [(one.name, one.size) for one in kept] == [("diff", 1)]


def test_artifact_over_four_mebibytes_is_refused(worker: Store, live: Claim) -> None:
    """One byte more than the limit is an ArtifactLimit; the limit itself is kept."""
    with pytest.raises(ArtifactLimit):
        keep(worker, live, "large", "application/octet-stream", bytes(4 * MIB + 1))

    keep(worker, live, "large", "application/octet-stream", bytes(4 * MIB))


def test_artifacts_of_an_attempt_have_a_limit_together(
    control: Store, worker: Store, live: Claim
) -> None:
    """Sixty-four MiB are kept; the byte after them is refused, and what is there stays."""
    for n in range(16):
        keep(worker, live, f"part {n}", "application/octet-stream", bytes([n]) * (4 * MIB))
    with pytest.raises(ArtifactLimit) as refusal:
        keep(worker, live, "the byte after", "application/octet-stream", b"!")

    assert refusal.value.code == "artifact_limit"
    with control.begin() as tx:
        kept = artifacts_of(tx, live.key.world, attempt_of(control, live))
    assert sum(one.size for one in kept) == 64 * MIB


def journal_of(control: Store, live: Claim) -> list[Written]:
    """Everything that the claim's attempt has in its journal."""
    attempt = attempt_of(control, live)
    with control.begin() as tx:
        return written_after(tx, live.key.world, attempt, 0)


def attempt_of(control: Store, live: Claim) -> str:
    """The attempt that the claim works for."""
    with control.begin() as tx:
        query = select(activities.c.attempt_id).where(of_key(activities, live.key))
        return str(tx.execute(query).scalar_one())


def _written(worker: Store, live: Claim, number: int, *, undo: bool) -> int:
    try:
        with worker.begin() as tx:
            evidence.journal(tx, live, number, [SAID, SAID])
            if undo:
                raise Oops
    except Oops:
        return 0
    return 2


def _ended(control: Store, live: Claim, attempt: str, *, undo: bool) -> int:
    """A tick that decides something of the attempt; what, does not matter here."""
    try:
        with (
            control.begin() as tx,
            changing(tx, live.key.world, Command("try", LOCAL, {})) as change,
        ):
            change.decide(AttemptEnded(attempt, AttemptOutcome.DONE))
            if undo:
                raise Oops
    except Oops:
        return 0
    return 1
