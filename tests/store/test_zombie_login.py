"""What each login must not do, tried (S02), and history that nobody rewrites (L7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import LiteralString

import psycopg
import pytest
from fixtures.database import Database, on_every_server
from fixtures.evidence import insert, prepare, present
from fixtures.world import a_claim, a_result, author_observation, newest_delivery, observe
from psycopg import sql

from app.domain.errors import AppendOnly
from app.store import dead_letters
from app.store.engine import open_store
from app.transitions.claim import claim
from app.transitions.hold import hold

pytestmark = [on_every_server, pytest.mark.contract("S02")]

REFUSED_TO_WORKERS: list[LiteralString] = [
    "update fencepost.work_orders set state = 'approved', approved_digest = digest",
    "update fencepost.activities set stop = null",
    "update fencepost.claims set lease_until = lease_until + interval '1 hour'",
    "update fencepost.starts set sha = repeat('0', 40)",
    "update fencepost.results set outcome = 'green'",
    "delete from fencepost.starts",
    "delete from fencepost.results",
    "delete from fencepost.claims",
    "truncate fencepost.events",
    "drop table fencepost.starts",
    "drop trigger a_fence on fencepost.starts",
    "drop function fencepost.guard_fence() cascade",
    "alter table fencepost.starts disable trigger a_fence",
    "alter table fencepost.starts disable trigger all",
    "create trigger mine after insert on fencepost.starts execute function fencepost.guard_fence()",
    "create or replace function fencepost.guard_fence() returns trigger language plpgsql"
    " as 'begin return new; end'",
    "create temp table mine (a int)",
    "create table fencepost.mine (a int)",
    "create table public.mine (a int)",
    "create schema mine",
    "create role mine",
    "select * from fencepost.principals",
    "select token_hash from fencepost.claims",
    "select * from fencepost.claims",
    "select * from fencepost.verdicts",
    "select * from fencepost.dead_letters",
    "select * from fencepost.activities for update",
    "select fencepost.next_fence('w', 'k', 'a', 'me', 1)",
    "select fencepost.obstacle('w', 'k', 'a')",
    "select fencepost.next_event('w', 'a')",
    "select fencepost.hold_counters('w', 'k', 'a')",
    "select * from fencepost.attempt_counters for update",
    "update fencepost.attempt_counters set event_sequence = 9",
    "insert into fencepost.attempt_counters default values",
    "insert into fencepost.attempt_events default values",
    "select fencepost.claim_for_control('w', 'k', 'a')",
    "select fencepost.check_fence('w', 'k', 'a', 1, false)",
    "insert into fencepost.activities default values",
    "insert into fencepost.claims default values",
    "insert into fencepost.deliveries default values",
    "insert into fencepost.ends default values",
    "insert into fencepost.settlements default values",
    "insert into fencepost.staged_batches default values",
    "insert into fencepost.unknowns default values",
    "insert into fencepost.verdicts (verdict) values ('late')",
    "insert into fencepost.dead_letters (cause) values ('mine')",
    "insert into fencepost.receipts default values",
    "insert into fencepost.facts default values",
    "insert into fencepost.worlds default values",
    "insert into fencepost.principals default values",
    "insert into fencepost.alembic_version values ('9999')",
    "set session_replication_role = replica",
    "set role fencepost_fence",
    "set role fencepost_app",
    "set role fencepost_owner",
    "set session authorization fencepost_owner",
    "copy fencepost.starts to program 'true'",
]
REFUSED_TO_CONTROL: list[LiteralString] = [
    "update fencepost.results set outcome = 'green'",
    "update fencepost.receipts set verb = 'other'",
    "update fencepost.facts set value = ''",
    "update fencepost.starts set sha = repeat('0', 40)",
    "update fencepost.claims set fence = 9",
    "update fencepost.claims set lease_until = lease_until + interval '1 hour'",
    "update fencepost.activities set fence = 9",
    "update fencepost.activities set request = ''",
    "delete from fencepost.results",
    "delete from fencepost.receipts",
    "delete from fencepost.attempts",
    "delete from fencepost.verdicts",
    "delete from fencepost.dead_letters",
    "truncate fencepost.events",
    "insert into fencepost.claims default values",
    "insert into fencepost.starts default values",
    "insert into fencepost.events default values",
    "update fencepost.attempt_counters set event_sequence = 9",
    "insert into fencepost.attempt_counters default values",
    "select fencepost.next_event('w', 'a')",
    "insert into fencepost.ends default values",
    "select token_hash from fencepost.claims",
    "select token_hash from fencepost.principals",
    "select fencepost.next_fence('w', 'k', 'a', 'me', 1)",
    "drop trigger a_fence on fencepost.starts",
    "alter table fencepost.starts disable trigger all",
    "create temp table mine (a int)",
    "create table fencepost.mine (a int)",
    "set session_replication_role = replica",
    "set role fencepost_fence",
]
#: Neither changed nor deleted.
APPEND_ONLY = [
    "bindings", "starts", "effect_calls", "effect_answers", "events", "artifacts", "payloads",
    "results", "settlements", "verdicts", "dead_letters", "receipts", "entities", "facts",
    "relations", "attempt_events",
]  # fmt: skip
#: Changed in the one way that their life asks for, never deleted.
KEPT = [
    "staged_batches", "ends", "unknowns", "attempts", "attempt_counters", "claims", "deliveries",
    "activities",
]  # fmt: skip


@pytest.mark.contract("L11")
@pytest.mark.parametrize("statement", REFUSED_TO_WORKERS)
def test_zombie_login_is_refused(statement: LiteralString, common: Database) -> None:
    """A worker's login reads what the work needs and inserts under the fence; nothing else."""
    with common.as_worker() as session, pytest.raises(psycopg.Error) as refusal:
        session.execute(statement)

    assert refusal.value.sqlstate == "42501"


@pytest.mark.parametrize("statement", REFUSED_TO_CONTROL)
def test_zombie_control_plane_is_refused(statement: LiteralString, common: Database) -> None:
    """The control plane's login rewrites no history and moves no fence."""
    with common.as_app() as session, pytest.raises(psycopg.Error) as refusal:
        session.execute(statement)

    assert refusal.value.sqlstate == "42501"


@pytest.mark.parametrize("login", ["worker", "app"])
def test_zombie_login_owns_nothing(login: str, common: Database) -> None:
    """Neither login owns an object, or may become a role that does."""
    url = common.worker_url if login == "worker" else common.app_url
    with common.connect(url) as session:
        found = session.execute(
            "select c.relname from pg_class c where c.relnamespace = 'fencepost'::regnamespace"
            " and pg_has_role(current_user, c.relowner, 'member')"
            " union all select p.proname from pg_proc p"
            " where p.pronamespace = 'fencepost'::regnamespace"
            " and pg_has_role(current_user, p.proowner, 'member')"
            " union all select rolname from pg_roles where rolname = current_user"
            " and (rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication)"
        ).fetchall()

    assert found == []


@pytest.fixture(scope="module")
def full(common: Database) -> Iterator[psycopg.Connection]:
    """The owner's session on a database in which every table of history has a row."""
    with (
        closing(open_store(common.app_url, name="test-app")) as store,
        closing(open_store(common.worker_url, name="test-worker")) as worker,
    ):
        held = a_claim(store, worker)
        with common.as_worker() as session:
            prepare(session, held)
            present(session, held)
            for table in ("effect_answers", "events", "artifacts"):
                insert(session, table, held)
        a_result(worker, held, author_observation())
        observe(store, held.key.world)
        claim(worker, held.key, newest_delivery(store, held.key), "worker-2")
        hold(worker, a_claim(store, worker), "code", "detail")
        with store.begin() as tx:
            dead_letters.bury_bytes(tx, "queue", "junk", b"junk")
    with common.as_owner() as session:
        yield session


@pytest.mark.contract("L7")
@pytest.mark.parametrize(
    ("verb", "table"),
    [("update", table) for table in APPEND_ONLY]
    + [(verb, table) for verb in ("delete", "truncate") for table in (*APPEND_ONLY, *KEPT)],
)
def test_zombie_owner_cannot_rewrite_history(
    verb: str, table: str, full: psycopg.Connection
) -> None:
    """Not even the owner changes evidence and history without taking the triggers away."""
    statements = {
        "update": "update fencepost.{} set world_id = world_id",
        "delete": "delete from fencepost.{}",
        "truncate": "truncate fencepost.{} cascade",
    }
    statement = sql.SQL(statements[verb]).format(sql.Identifier(table))

    with pytest.raises(psycopg.DatabaseError) as refusal:
        full.execute(statement)
    full.rollback()

    assert refusal.value.sqlstate == "ZF007"


@pytest.mark.contract("L7")
@pytest.mark.parametrize(
    "statement",
    [
        "update fencepost.staged_batches set bytes = '', digest = sha256('')",
        "update fencepost.staged_batches set consumed_tick = 1",
        "update fencepost.ends set outcome = 'failed'",
        "update fencepost.attempts set number = number + 1, retry = retry + 1",
        "update fencepost.unknowns set detail = 'something else'",
        "update fencepost.attempt_counters set event_sequence = event_sequence - 1",
    ],
)
def test_zombie_owner_cannot_change_what_is_set_once(
    statement: LiteralString, full: psycopg.Connection
) -> None:
    """A batch is consumed once, an attempt ends once, an unknown is decided once."""
    with pytest.raises(psycopg.DatabaseError) as refusal:
        full.execute(statement)
    full.rollback()

    assert refusal.value.sqlstate == "ZF007"


@pytest.mark.contract("L8")
def test_zombie_change_of_history_is_append_only_in_the_code(common: Database) -> None:
    """The refusal has its own word in the domain."""
    with (
        closing(open_store(common.owner_url, name="test-owner")) as owner,
        pytest.raises(AppendOnly),
        owner.begin() as tx,
    ):
        tx.exec_driver_sql("truncate fencepost.receipts cascade")
