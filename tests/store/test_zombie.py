"""What a worker that lost its claim tries to write: refused by the database itself (L2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import LiteralString

import psycopg
import pytest
from fixtures.database import Clock, Database, on_every_server
from fixtures.evidence import ACTING, ROWS, WRITES, count, insert, prepare, present
from fixtures.world import (
    LEASE,
    a_claim,
    a_dispatched_attempt,
    a_successor,
    activity_of,
    author_observation,
    catch_up,
)
from psycopg import sql

from app.domain import errors
from app.domain.identity import Claim, ClaimToken
from app.store import claims
from app.store.engine import Store, Tx, open_store
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from app.transitions.record import record
from app.transitions.release import release

pytestmark = [on_every_server, pytest.mark.contract("L2")]

HOUR = timedelta(hours=1)
DROP_TRIGGER = sql.SQL("drop trigger a_fence on fencepost.{}")
CLASSES: dict[str, type[errors.Refused]] = {
    "ZF001": errors.StaleFence,
    "ZF002": errors.ClaimNotLive,
    "ZF003": errors.Stopped,
}


ENDINGS: dict[str, tuple[LiteralString, Callable[[Tx, Claim], None]]] = {
    "release": (
        "select fencepost.release(%s, %s, %s, %s, %s, 'handed back', interval '0')",
        lambda tx, claim: claims.release(tx, claim, "handed back", timedelta(0)),
    ),
    "hold": (
        "select fencepost.hold(%s, %s, %s, %s, %s, 'code', 'detail')",
        lambda tx, claim: claims.hold(tx, claim, "code", "detail"),
    ),
}


class Case(StrEnum):
    """How a worker can have lost its right to write."""

    OLDER_FENCE = "older fence"
    EXPIRED_UNSWEPT = "expired, not swept"
    WITHOUT_TOKEN = "newest fence without its token"
    TOKEN_OF_ANOTHER = "newest fence with the token of an older one"
    AFTER_RELEASE = "after its release"
    AFTER_THE_END = "after the end"
    AFTER_STOP = "after stop"


@dataclass(frozen=True, slots=True)
class Zombie:
    """A claim as a zombie presents it."""

    case: Case
    claim: Claim

    def refusal(self, table: str) -> str | None:
        """The code that a write into the table has to meet."""
        match self.case:
            case Case.OLDER_FENCE:
                return "ZF001"
            case Case.AFTER_STOP:
                return "ZF003" if table in ACTING else None
            case _:
                return "ZF002"


@pytest.fixture(scope="module", params=list(Case))
def zombie(request: pytest.FixtureRequest, common: Database) -> Iterator[Zombie]:
    """A claim that lost its authority in one of the ways; everything else about it is in order."""
    case = Case(request.param)
    clock = Clock(common)
    with (
        closing(open_store(common.app_url, name="test-app")) as store,
        closing(open_store(common.worker_url, name="test-worker")) as worker_store,
    ):
        attempt = a_dispatched_attempt(store)
        catch_up(store, attempt.world)
        held = a_claim(store, worker_store, activity_of(store, attempt))
        with common.as_worker() as session:
            prepare(session, held)
        presented = held
        match case:
            case Case.OLDER_FENCE:
                clock.advance(LEASE)
                a_successor(store, worker_store, held)
            case Case.TOKEN_OF_ANOTHER:
                clock.advance(LEASE)
                presented = replace(a_successor(store, worker_store, held), token=held.token)
            case Case.WITHOUT_TOKEN:
                presented = replace(held, token=ClaimToken(""))
            case Case.AFTER_RELEASE:
                release(worker_store, held, "handed back", timedelta(0))
            case Case.AFTER_THE_END:
                record(worker_store, held, author_observation(said="the first result"))
            case Case.AFTER_STOP:
                cancel(store, attempt.world, LOCAL, attempt.id, "no longer wanted")
            case Case.EXPIRED_UNSWEPT:
                pass  # below
        # the lease is in order, or alone to blame, however long the tests take
        clock.advance(LEASE if case is Case.EXPIRED_UNSWEPT else -HOUR)
        yield Zombie(case, presented)


@pytest.mark.parametrize("table", ROWS)
def test_zombie_insert_is_refused_by_the_trigger(
    zombie: Zombie, table: str, common: Database, session: psycopg.Connection
) -> None:
    """Plain SQL under the worker's login gets the exact code from the trigger and leaves no row."""
    before = count(session, table, zombie.claim)
    present(session, zombie.claim)

    if zombie.refusal(table) is None:  # it may still tell what happened
        insert(session, table, zombie.claim)
        session.rollback()
        return
    with pytest.raises(psycopg.DatabaseError) as refusal:
        insert(session, table, zombie.claim)
    session.rollback()

    assert refusal.value.sqlstate == zombie.refusal(table)
    assert "guard_fence" in str(refusal.value.diag.context)
    assert count(session, table, zombie.claim) == before
    session.rollback()
    _insert_without_trigger(common, table, zombie)


@pytest.mark.parametrize("table", WRITES)
def test_zombie_write_through_the_code_is_refused(
    zombie: Zombie, table: str, worker: Store, session: psycopg.Connection
) -> None:
    """The code's own functions meet the same trigger, and say the same in the domain's words."""
    before = count(session, table, zombie.claim)
    session.rollback()
    expected = CLASSES.get(zombie.refusal(table) or "")
    if table == "results" and zombie.case is Case.AFTER_THE_END:
        expected = errors.DigestConflict  # digests are compared first (L5)

    if expected is None:
        with worker.begin() as tx:
            WRITES[table](tx, zombie.claim)
            tx.rollback()
    else:
        with pytest.raises(expected), worker.begin() as tx:
            WRITES[table](tx, zombie.claim)

    assert count(session, table, zombie.claim) == before
    session.rollback()


@pytest.mark.contract("M12")
def test_zombie_is_told_by_renew_that_its_claim_is_lost(
    zombie: Zombie, worker: Store, session: psycopg.Connection
) -> None:
    """A lost claim is not among those that renew gives back; a stopped one is, with its stop."""
    with worker.begin() as tx:
        kept = claims.renew(tx, [zombie.claim])
    by_sql = session.execute(
        "select fence, stop from fencepost.renew(jsonb_build_array(jsonb_build_object("
        "'w', %s::text, 'k', %s::text, 'a', %s::text, 'f', %s::bigint, 't', %s::text)))",
        (*_arguments(zombie.claim), zombie.claim.token),
    ).fetchall()
    session.rollback()

    if zombie.case is Case.AFTER_STOP:
        assert [(one.fence, one.stop) for one in kept] == [(zombie.claim.fence, "cancel")]
        assert by_sql == [(zombie.claim.fence, "cancel")]
    else:
        assert (kept, by_sql) == ([], [])


@pytest.mark.parametrize("function", ENDINGS)
@pytest.mark.contract("M12")
def test_zombie_cannot_release_or_hold(
    zombie: Zombie, function: str, worker: Store, session: psycopg.Connection
) -> None:
    """Only a live claim hands work back or has it kept as unknown; a stop does not matter here."""
    statement, through_code = ENDINGS[function]
    arguments = (*_arguments(zombie.claim), zombie.claim.token)
    expected = zombie.refusal(function)

    if expected is None:
        session.execute(statement, arguments)
        session.rollback()
        with worker.begin() as tx:
            through_code(tx, zombie.claim)
            tx.rollback()
        return
    with pytest.raises(psycopg.DatabaseError) as refusal:
        session.execute(statement, arguments)
    session.rollback()
    with pytest.raises(CLASSES[expected]), worker.begin() as tx:
        through_code(tx, zombie.claim)

    assert refusal.value.sqlstate == expected
    assert count(session, "unknowns", zombie.claim) == 0
    session.rollback()


def _insert_without_trigger(common: Database, table: str, zombie: Zombie) -> None:
    """The same insert succeeds once the owner has dropped the trigger, so the test can fail."""
    with common.as_superuser() as session:
        session.execute("set local role fencepost_owner")
        session.execute(
            sql.SQL("drop trigger a_fence on fencepost.{}").format(sql.Identifier(table))
        )
        session.execute("set local role fencepost_worker")
        if (table, zombie.case) == ("results", Case.AFTER_THE_END):
            # there, a second result has the primary key against it, too
            with pytest.raises(psycopg.errors.UniqueViolation):
                insert(session, table, zombie.claim)
        else:
            insert(session, table, zombie.claim)
        session.rollback()


def _arguments(claim: Claim) -> tuple[str, str, str, int]:
    return claim.key.world, claim.key.kind, claim.key.activity, claim.fence
