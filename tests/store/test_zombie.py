"""What a worker that lost its claim tries to write: refused by the database itself (L2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

import psycopg
import pytest

from app.domain import errors
from app.domain.identity import Claim, ClaimToken
from app.store import claims
from app.store.engine import open_store
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from app.transitions.record import record
from app.transitions.release import release
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

pytestmark = [on_every_server, pytest.mark.contract("L2")]

HOUR = timedelta(hours=1)
CLASSES: dict[str, type[errors.Refused]] = {
    "ZF001": errors.StaleFence,
    "ZF002": errors.ClaimNotLive,
    "ZF003": errors.Stopped,
    "ZF004": errors.WrongIsolation,
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
        match case:
            case Case.OLDER_FENCE | Case.TOKEN_OF_ANOTHER:
                clock.advance(LEASE)
                newest = a_successor(store, worker_store, held)
                copied = replace(newest, token=held.token)
                presented = held if case is Case.OLDER_FENCE else copied
            case Case.WITHOUT_TOKEN:
                presented = replace(held, token=ClaimToken(""))
            case Case.AFTER_RELEASE:
                release(worker_store, held, "handed back", timedelta(0))
                presented = held
            case Case.AFTER_THE_END:
                record(worker_store, held, author_observation(said="the first result"))
                presented = held
            case Case.AFTER_STOP:
                cancel(store, attempt.world, LOCAL, attempt.id, "no longer wanted")
                presented = held
            case Case.EXPIRED_UNSWEPT:
                presented = held
        # the lease is in order, or alone to blame, however long the tests take
        clock.advance(LEASE if case is Case.EXPIRED_UNSWEPT else -HOUR)
        yield Zombie(case, presented)


@pytest.fixture(scope="module")
def session(common: Database) -> Iterator[psycopg.Connection]:
    """A worker's plain session."""
    with common.as_worker() as session:
        yield session


@pytest.fixture
def live(common: Database) -> Iterator[Claim]:
    """A live claim whose worker has written nothing yet but what the rows refer to."""
    with (
        closing(open_store(common.app_url, name="test-app")) as store,
        closing(open_store(common.worker_url, name="test-worker")) as worker_store,
    ):
        held = a_claim(store, worker_store)
        with common.as_worker() as session:
            prepare(session, held)
        yield held


@pytest.mark.parametrize("table", ROWS)
def test_zombie_insert_is_refused_by_the_trigger(
    zombie: Zombie, table: str, common: Database, session: psycopg.Connection
) -> None:
    """Plain SQL under the worker's login gets the exact code from the trigger and leaves no row."""
    before = count(session, table, zombie.claim)
    expected = zombie.refusal(table)

    if expected is None:  # it may still tell what happened
        present(session, zombie.claim)
        insert(session, table, zombie.claim)
        session.rollback()
        return
    present(session, zombie.claim)
    with pytest.raises(psycopg.DatabaseError) as refusal:
        insert(session, table, zombie.claim)
    session.rollback()

    assert refusal.value.sqlstate == expected
    assert "guard_fence" in str(refusal.value.diag.context)
    assert count(session, table, zombie.claim) == before
    session.rollback()
    _insert_without_trigger(common, table, zombie)


@pytest.mark.parametrize("table", WRITES)
def test_zombie_write_through_the_code_is_refused(
    zombie: Zombie, table: str, common: Database, session: psycopg.Connection
) -> None:
    """The code's own functions meet the same trigger, and say the same in the domain's words."""
    before = count(session, table, zombie.claim)
    session.rollback()
    expected = zombie.refusal(table)
    if expected is None:
        pytest.xfail("not refused") if False else None

    with closing(open_store(common.worker_url, name="test-worker")) as worker_store:
        if expected is None:
            with worker_store.begin() as tx:
                WRITES[table](tx, zombie.claim)
                tx.rollback()
            return
        refused = CLASSES[expected]
        if table == "results" and zombie.case is Case.AFTER_THE_END:
            refused = errors.DigestConflict  # digests are compared first (L5)
        with pytest.raises(refused), worker_store.begin() as tx:
            WRITES[table](tx, zombie.claim)

    assert count(session, table, zombie.claim) == before
    session.rollback()
