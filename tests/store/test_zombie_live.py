"""What the fence lets a live claim do, and what it keeps a live claim from."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.database import Clock, Database, on_every_server
from fixtures.evidence import ROWS, SEEN, WRITES, count, insert, present
from fixtures.world import LEASE, a_claim, a_successor, author_observation

from app.domain.digest import digest
from app.domain.errors import DigestConflict, WrongIsolation
from app.domain.identity import Claim, DeliveryNumber
from app.store import claims, results
from app.store.engine import Store, open_engine
from app.transitions.record import record

pytestmark = [on_every_server, pytest.mark.contract("L2")]


@pytest.mark.parametrize("table", ROWS)
def test_no_zombie_may_insert(live: Claim, table: str, session: psycopg.Connection) -> None:
    """A live claim is accepted by every table, as plain SQL."""
    before = count(session, table, live)

    present(session, live)
    insert(session, table, live)
    session.commit()

    assert count(session, table, live) == before + 1
    session.rollback()


@pytest.mark.parametrize("table", WRITES)
def test_no_zombie_may_write_through_the_code(
    live: Claim, table: str, worker: Store, session: psycopg.Connection
) -> None:
    """A live claim is accepted by every table, through the code."""
    before = count(session, table, live)
    session.rollback()

    with worker.begin() as tx:
        WRITES[table](tx, live)

    assert count(session, table, live) == before + 1
    session.rollback()


def test_zombie_renew_gives_back_only_what_is_live(
    control: Store, worker: Store, common: Database
) -> None:
    """Of all the claims of a process the lost ones are missing, and the live ones are prolonged."""
    lost = a_claim(control, worker)
    Clock(common).advance(LEASE)
    kept = a_claim(control, worker)

    with worker.begin() as tx:
        renewed = claims.renew(tx, [lost, kept])

    assert [(one.key, one.fence, one.stop) for one in renewed] == [(kept.key, kept.fence, None)]


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("table", ROWS)
def test_zombie_snapshot_is_refused(
    live: Claim, table: str, level: str, session: psycopg.Connection
) -> None:
    """Under a snapshot an end could be overlooked, so only READ COMMITTED may write (ZF004)."""
    session.execute(f"set transaction isolation level {level}")
    present(session, live)

    with pytest.raises(psycopg.DatabaseError) as refusal:
        insert(session, table, live)
    session.rollback()

    assert refusal.value.sqlstate == "ZF004"


def test_zombie_snapshot_is_refused_by_every_function(live: Claim, common: Database) -> None:
    """Claiming, renewing, releasing and holding have the same rule as writing."""
    engine = open_engine(common.worker_url, name="test").execution_options(
        isolation_level="SERIALIZABLE"
    )
    store = Store(engine)

    with pytest.raises(WrongIsolation), store.begin() as tx:
        claims.renew(tx, [live])
    with pytest.raises(WrongIsolation), store.begin() as tx:
        claims.release(tx, live, "handed back", LEASE)
    with pytest.raises(WrongIsolation), store.begin() as tx:
        claims.hold(tx, live, "code", "detail")
    with pytest.raises(WrongIsolation), store.begin() as tx:
        claims.take(tx, live.key, DeliveryNumber(1), "worker-1")
    store.close()


def test_zombie_token_does_not_outlive_its_transaction(
    live: Claim, session: psycopg.Connection
) -> None:
    """A token shown in one transaction is gone in the next one of the same session."""
    present(session, live)
    insert(session, "events", live)
    session.commit()

    with pytest.raises(psycopg.DatabaseError) as refusal:
        insert(session, "starts", live)
    session.rollback()

    assert refusal.value.sqlstate == "ZF002"


def test_zombie_token_of_a_neighbour_is_refused(
    control: Store, worker: Store, live: Claim, session: psycopg.Connection
) -> None:
    """The live token of another activity opens nothing here."""
    neighbour = a_claim(control, worker)

    present(session, neighbour)
    with pytest.raises(psycopg.DatabaseError) as refusal:
        insert(session, "starts", live)
    session.rollback()

    assert refusal.value.sqlstate == "ZF002"


def test_zombie_cannot_date_back(live: Claim, session: psycopg.Connection) -> None:
    """The trigger sets the time, whatever the row says."""
    present(session, live)
    insert(session, "events", live, recorded_at="2001-01-01T00:00:00Z")

    (age,) = session.execute(
        "select clock_timestamp() - recorded_at < interval '1 minute' from fencepost.events"
        " where (world_id, activity_id) = (%s, %s)",
        (live.key.world, live.key.activity),
    ).fetchone() or (None,)
    session.rollback()

    assert age is True


@pytest.mark.contract("L5", "M13", "M12")
def test_zombie_result_is_accepted_only_if_it_is_the_same(
    control: Store, worker: Store, common: Database
) -> None:
    """From anyone and at any time: the exact result again is its reference, another is refused."""
    late = a_claim(control, worker)
    Clock(common).advance(LEASE)
    newest = a_successor(control, worker, late)
    reference = record(worker, newest, SEEN)

    repeated = record(worker, late, SEEN)
    with pytest.raises(DigestConflict):
        record(worker, late, author_observation(said="another"))

    assert repeated == reference
    with control.begin() as tx:
        assert results.find(tx, late.key) == reference


@pytest.mark.contract("L9")
def test_zombie_has_no_time_between_result_and_end(
    live: Claim, session: psycopg.Connection
) -> None:
    """The statement that inserts a result ends its claim and its activity."""
    present(session, live)
    insert(session, "results", live)

    ended = session.execute(
        "select c.end_cause, e.outcome, e.fence from fencepost.claims c"
        " join fencepost.ends e using (world_id, kind, activity_id)"
        " where (c.world_id, c.activity_id) = (%s, %s)",
        (live.key.world, live.key.activity),
    ).fetchall()
    session.rollback()

    assert ended == [("recorded", "green", live.fence)]


@pytest.mark.contract("L5")
@pytest.mark.parametrize("table", ["effect_calls", "effect_answers", "artifacts", "payloads"])
def test_zombie_bytes_need_their_own_digest(
    live: Claim, table: str, session: psycopg.Connection
) -> None:
    """Bytes under a digest that is not theirs are refused, also from a live claim."""
    present(session, live)

    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        insert(session, table, live, digest=digest(b"something else"))
    session.rollback()

    assert refusal.value.diag.constraint_name == f"{table}_digest"


def test_zombie_result_needs_its_payload(live: Claim, session: psycopg.Connection) -> None:
    """A result names bytes that are there."""
    present(session, live)

    with pytest.raises(psycopg.errors.ForeignKeyViolation) as refusal:
        insert(session, "results", live, digest=digest(b"nobody wrote this"))
    session.rollback()

    assert refusal.value.diag.constraint_name == "results_payload"
