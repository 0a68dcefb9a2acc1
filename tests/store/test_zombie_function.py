"""The functions that workers may call, tried with junk, foreign, ended and oversized input."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import LiteralString

import psycopg
import pytest
from fixtures.database import Clock, Database, on_every_server
from fixtures.world import (
    LEASE,
    a_claim,
    a_result,
    a_world,
    an_activity,
    author_observation,
    newest_delivery,
    observe,
)

from app.domain.errors import UnfitInput
from app.domain.identity import ActivityId, ActivityKey, Claim, DeliveryNumber, Kind, WorldId
from app.store import claims, dead_letters
from app.store.claims import Verdict
from app.store.deliveries import Cause
from app.store.engine import Store
from app.transitions.claim import claim
from app.transitions.deliver import deliver
from app.transitions.hold import hold
from app.transitions.record import record

pytestmark = [on_every_server, pytest.mark.contract("Q10", "L2")]

ONE = DeliveryNumber(1)
LONG = "x" * 201

UNFIT: list[tuple[LiteralString, tuple[object, ...]]] = [
    ("select fencepost.claim(%s, %s, %s, %s, %s)", (None, "k", "a", 1, "me")),
    ("select fencepost.claim(%s, %s, %s, %s, %s)", ("w", None, "a", 1, "me")),
    ("select fencepost.claim(%s, %s, %s, %s, %s)", ("w", "k", None, 1, "me")),
    ("select fencepost.claim(%s, %s, %s, %s, %s)", ("w", "k", "a", 1, None)),
    ("select fencepost.claim(%s, %s, %s, %s, %s)", ("w", "k", "a", 1, LONG)),
    ("select fencepost.claim(%s, %s, %s, %s, %s)", (LONG, "k", "a", 1, "me")),
    ("select fencepost.claim(%s, %s, %s, %s, %s)", ("w", LONG, "a", 1, "me")),
    ("select fencepost.claim(%s, %s, %s, %s, %s)", ("w", "k", "x" * 10_000_000, 1, "me")),
    ("select fencepost.record_verdict(%s, %s, %s, 1, %s, %s)", (None, "k", "a", "late", "me")),
    ("select fencepost.record_verdict(%s, %s, %s, 1, %s, %s)", ("w", "k", "a", "fine", "me")),
    ("select fencepost.record_verdict(%s, %s, %s, 1, %s, %s)", ("w", "k", "a", None, "me")),
    ("select fencepost.record_verdict(%s, %s, %s, 1, %s, %s)", ("w", "k", "a", "late", None)),
    ("select fencepost.record_verdict(%s, %s, %s, 1, %s, %s)", ("w", "k", LONG, "late", "me")),
    ("select fencepost.record_verdict(%s, %s, %s, 1, %s, %s)", ("w", "k", "a", "late", LONG)),
    ("select fencepost.bury_bytes(%s, %s, %s)", (None, "junk", b"x")),
    ("select fencepost.bury_bytes(%s, %s, %s)", ("queue", None, b"x")),
    ("select fencepost.bury_bytes(%s, %s, %s)", ("queue", "junk", None)),
    ("select fencepost.bury_bytes(%s, %s, %s)", (LONG, "junk", b"x")),
    ("select fencepost.bury_bytes(%s, %s, %s)", ("queue", "x" * 65, b"x")),
    ("select fencepost.renew(%s)", (None,)),
    ("select fencepost.renew(%s)", ('{"w": "w"}',)),
    ("select fencepost.renew(%s)", ("3",)),
    ("select fencepost.release('w', 'k', 'a', 1, 't', %s, %s)", ("x" * 2001, "1 second")),
    ("select fencepost.release('w', 'k', 'a', 1, 't', %s, %s)", ("why", "2 days")),
    ("select fencepost.release('w', 'k', 'a', 1, 't', %s, %s)", ("why", "-1 second")),
    ("select fencepost.release('w', 'k', 'a', 1, 't', %s, %s)", (None, "1 second")),
    ("select fencepost.hold('w', 'k', 'a', 1, 't', %s, %s)", ("x" * 65, "detail")),
    ("select fencepost.hold('w', 'k', 'a', 1, 't', %s, %s)", ("code", "x" * 8001)),
    ("select fencepost.hold('w', 'k', 'a', 1, 't', %s, %s)", (None, "detail")),
]


@pytest.mark.parametrize(("statement", "arguments"), UNFIT)
def test_zombie_argument_that_is_unfit_is_refused(
    statement: LiteralString, arguments: tuple[object, ...], session: psycopg.Connection
) -> None:
    """What is missing or too large is refused by its code, and nothing of it is stored."""
    with pytest.raises(psycopg.DatabaseError) as refusal:
        session.execute(statement, arguments)
    session.rollback()

    assert refusal.value.sqlstate == "ZF006"


@pytest.mark.parametrize(
    "identity",
    [
        ("no-world", "missions.author", "no-activity"),
        ("", "", ""),
        ("'; drop table fencepost.starts; --", "%s", "\\"),
        ("wörld", "🧨", "\t\n"),
    ],
)
def test_zombie_claim_of_an_unknown_identity_is_a_verdict(
    identity: tuple[str, str, str], worker: Store, common: Database
) -> None:
    """A message for nothing that exists is told so, and the verdict is kept."""
    world, kind, activity = identity
    key = ActivityKey(WorldId(world), Kind(kind), ActivityId(activity))

    verdict = claim(worker, key, ONE, "worker-1")

    assert verdict is Verdict.UNKNOWN_IDENTITY
    assert verdicts_of(common, key)[-1] == "unknown_identity"


@pytest.mark.contract("M14", "M15")
def test_zombie_claim_of_a_foreign_world_or_kind_is_a_verdict(
    control: Store, worker: Store
) -> None:
    """The id of one world's activity means nothing in another world, nor under another kind."""
    key = an_activity(control)
    elsewhere = replace(key, world=a_world(control))

    for wrong in (elsewhere, replace(key, kind=Kind("forge.pull_request"))):
        assert claim(worker, wrong, ONE, "worker-1") is Verdict.UNKNOWN_IDENTITY


@pytest.mark.parametrize("number", [0, -1, 2, 2**62])
def test_zombie_claim_of_a_delivery_that_was_not_made_is_a_verdict(
    control: Store, worker: Store, number: int
) -> None:
    """Only a delivery that the database made can be claimed."""
    key = an_activity(control)

    assert claim(worker, key, DeliveryNumber(number), "worker-1") is Verdict.UNKNOWN_IDENTITY


def test_zombie_delivery_is_a_duplicate_while_its_claim_lives(
    live: Claim, worker: Store, common: Database
) -> None:
    """A doubled message meets the live claim, and the verdict says so."""
    assert claim(worker, live.key, ONE, "worker-2") is Verdict.DUPLICATE
    assert verdicts_of(common, live.key) == ["duplicate"]


def test_zombie_delivery_that_was_claimed_is_a_duplicate_ever_after(
    control: Store, worker: Store, common: Database
) -> None:
    """A message that is replayed after its claim's lease ran out claims nothing."""
    lost = a_claim(control, worker)
    Clock(common).advance(LEASE)

    assert claim(worker, lost.key, ONE, "worker-2") is Verdict.DUPLICATE


def test_zombie_delivery_that_was_replaced_is_superseded(control: Store, worker: Store) -> None:
    """The message of a delivery that another one replaced claims nothing; the newest does."""
    key = an_activity(control)
    deliver(control, key, Cause.WIPED)

    assert claim(worker, key, ONE, "worker-1") is Verdict.SUPERSEDED
    assert isinstance(claim(worker, key, newest_delivery(control, key), "worker-1"), Claim)


@pytest.mark.contract("Q03")
def test_zombie_delivery_past_its_deadline_is_late(
    control: Store, worker: Store, common: Database
) -> None:
    """An expired delivery cannot execute; the one that replaces it can."""
    key = an_activity(control)
    Clock(common).advance(LEASE * 100)

    assert claim(worker, key, ONE, "worker-1") is Verdict.LATE
    deliver(control, key, Cause.EXPIRED)
    assert isinstance(claim(worker, key, newest_delivery(control, key), "worker-1"), Claim)


def test_zombie_claim_after_the_result_is_a_verdict(control: Store, worker: Store) -> None:
    """Once a result is recorded nothing can be claimed; once it is settled it has ended."""
    held = a_claim(control, worker)
    a_result(worker, held, author_observation())

    assert claim(worker, held.key, ONE, "worker-2") is Verdict.RECORDED
    observe(control, held.key.world)
    assert claim(worker, held.key, ONE, "worker-2") is Verdict.ENDED


def test_zombie_claim_of_held_work_is_a_verdict(control: Store, worker: Store) -> None:
    """Work that is kept as unknown is not claimed before a person has decided."""
    held = a_claim(control, worker)
    hold(worker, held, "ref_missing", "somebody removed the ref")

    assert claim(worker, held.key, ONE, "worker-2") is Verdict.HELD
    assert deliver(control, held.key, Cause.RELEASED) is False


@pytest.mark.contract("Q08")
def test_zombie_renewal_tells_the_stop(live: Claim, control: Store, worker: Store) -> None:
    """The keeper learns of a stop with its next renewal, and may still record."""
    with control.begin() as tx:
        tx.exec_driver_sql(
            "update fencepost.activities set stop = 'cancel' where world_id = %s", (live.key.world,)
        )

    with worker.begin() as tx:
        (renewed,) = claims.renew(tx, [live])

    assert renewed.stop == "cancel"
    assert record(worker, live, author_observation()).fence == live.fence


@pytest.mark.contract("Q04")
@pytest.mark.parametrize("size", [0, 1, 262_144, 262_145, 5_000_000])
def test_zombie_message_is_buried_within_bounds(size: int, worker: Store, common: Database) -> None:
    """Of a message of any size the first 256 KiB are kept, with their digest and its whole size."""
    message = bytes(range(256)) * (size // 256 + 1)
    message = message[:size]

    with worker.begin() as tx:
        number = dead_letters.bury_bytes(tx, "missions.author", "malformed", message)

    kept = message[:262_144]
    with common.as_owner() as owner:
        row = owner.execute(
            "select cause, queue, bytes, digest, size from fencepost.dead_letters"
            " where dead_letter_id = %s",
            (number,),
        ).fetchone()
    assert row == (
        "malformed", "missions.author", kept, hashlib.sha256(kept).digest(), size
    )  # fmt: skip


def test_zombie_argument_is_unfit_input_in_the_code(worker: Store) -> None:
    """The refusal has its own word in the domain."""
    key = ActivityKey(WorldId(LONG), Kind("k"), ActivityId("a"))

    with pytest.raises(UnfitInput):
        claim(worker, key, ONE, "worker-1")


def verdicts_of(database: Database, key: ActivityKey) -> list[str]:
    """The verdicts on an identity, oldest first."""
    with database.as_owner() as owner:
        rows = owner.execute(
            "select verdict from fencepost.verdicts"
            " where (world_id, kind, activity_id) = (%s, %s, %s) order by verdict_id",
            (key.world, key.kind, key.activity),
        ).fetchall()
    return [row[0] for row in rows]
