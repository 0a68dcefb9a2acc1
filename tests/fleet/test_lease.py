"""How a worker keeps its leases: one statement a beat, and no work before the first renewal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from fixtures.stack import LEASE, Stack
from fixtures.waiting import until
from fixtures.world import a_claim
from sqlalchemy import event

from app import events
from app.domain.errors import ClaimNotLive
from app.events import Event, Moment
from app.store.engine import Store
from workers.keeper import Held, Keeper, boot_time

pytestmark = pytest.mark.contract("T08")

SIXTEEN = 16
BEAT = timedelta(seconds=0.2)
_RENEW = "grant execute on function fencepost.renew to fencepost_worker"


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """Every statement that the store's connections carry out, beside those of a transaction."""
    seen: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    yield seen
    event.remove(store.engine, "before_cursor_execute", note)


@contextmanager
def renewals() -> Iterator[list[int]]:
    """How many leases each renewal of this process has prolonged."""
    seen: list[int] = []

    def note(one: Event) -> None:
        if one.moment is Moment.RENEWED:
            seen.append(int(one.facts["renewed"]))

    events.subscribers.append(note)
    yield seen
    events.subscribers.remove(note)


def test_a_beat_is_one_statement_for_sixteen_claims(store: Store, worker_store: Store) -> None:
    """However many claims a process holds, a beat asks the database once."""
    claims = [a_claim(store, worker_store) for _ in range(SIXTEEN)]
    keeper = Keeper(worker_store)

    with ExitStack() as held, renewals() as renewed:
        for claim in claims:
            held.enter_context(keeper.holding(claim, timedelta(seconds=15), BEAT))
        until(lambda: SIXTEEN in renewed)
        before, began = len(renewed), boot_time()
        with statements(worker_store) as said:
            until(lambda: len(renewed) >= before + 10)
            took, beats = boot_time() - began, len(renewed) - before

    assert renewed[before:] == [SIXTEEN] * beats
    assert [words for words in said if "fencepost.renew(" not in words] == []
    assert beats - 1 <= len(said) <= beats + 1
    assert took >= (beats - 1) * BEAT.total_seconds() * 0.9


def test_claims_that_come_between_two_beats_move_no_other(
    store: Store, worker_store: Store
) -> None:
    """A new claim is renewed at once, by a statement that leaves the others to their beat."""
    first, second = a_claim(store, worker_store), a_claim(store, worker_store)
    keeper = Keeper(worker_store)
    hour = timedelta(hours=1)

    with renewals() as renewed, keeper.holding(first, hour, hour) as one:
        one.await_renewal()
        with keeper.holding(second, hour, hour) as other:
            other.await_renewal()

    assert renewed == [1, 1]


def test_a_claim_that_is_not_renewed_in_time_is_lost(store: Store, worker_store: Store) -> None:
    """Whoever waits for a first renewal that does not come is told so after one lease."""
    claim = a_claim(store, worker_store)
    held = Held(claim, timedelta(seconds=0.1), BEAT)  # no keeper knows of it

    with pytest.raises(ClaimNotLive):
        held.await_renewal()


def test_nothing_is_started_before_the_first_renewal(stack: Stack, work: str) -> None:
    """A worker that can claim and cannot renew starts nothing; once it can, the work is done."""
    with stack.database.as_superuser() as owner:
        owner.execute(_RENEW.replace("grant", "revoke").replace(" to ", " from "))
    stack.start_dispatcher()
    worker = stack.start_worker()
    seen = stack.seen(stack.dispatch(work))

    stack.until(lambda: seen.fence() >= 2, LEASE.total_seconds() * 5)
    assert (seen.starts(), stack.count("author")) == (0, 0)
    assert worker.says("claim.lost")
    with stack.database.as_superuser() as owner:
        owner.execute(_RENEW)

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, seen.starts(), stack.count("author")) == ("done", 1, 1)
