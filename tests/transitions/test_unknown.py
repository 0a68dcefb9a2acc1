"""Deciding what is held: once, with a reason, by whoever may, and as the protocol allows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from fixtures.deciding import WHY, held_fence
from fixtures.road import count, newest_receipt
from fixtures.world import a_claim, a_result, a_world, an_activity, author_observation
from sqlalchemy import func, select

from app.domain.authority import Principal, Scope, require
from app.domain.decision import AlreadyDecided, Decision, DecisionNotAllowed, NoOpenUnknown
from app.domain.errors import (
    BadInput,
    FencepostError,
    IdempotencyConflict,
    ReasonMissing,
    ScopeMissing,
)
from app.domain.identity import ActivityKey, Fence
from app.domain.recovery import Stop
from app.store import activities, unknowns
from app.store.engine import Store
from app.store.fencing import of_key
from app.store.schema import attempt_events, deliveries, receipts
from app.transitions.change import LOCAL
from app.transitions.hold import hold
from app.transitions.resolve import Word, resolve

LOOK = Word(Decision.LOOK_AGAIN, WHY)


@pytest.fixture
def held(control: Store, worker: Store) -> ActivityKey:
    """An author that was started, and whose ref is gone."""
    key = an_activity(control, a_world(control))
    hold(worker, a_claim(control, worker, key), "operation_ref_missing", "its ref is gone")
    return key


@pytest.mark.contract("L10", "T07")
def test_a_decision_is_kept_with_its_reason_and_lets_another_claim_follow(
    control: Store, worker: Store, held: ActivityKey
) -> None:
    """Row, receipt and journal say the same, and a delivery is under way at once."""
    fence = held_fence(control, held)

    resolve(control, LOCAL, held, fence, Word(Decision.ATTEST_ABSENCE, WHY))

    receipt = newest_receipt(control, held.world)
    subject = receipt["subject"]
    assert isinstance(subject, dict)
    assert (receipt["verb"], receipt["actor"], receipt["reason"]) == ("resolve", LOCAL, WHY)
    assert (subject["activity"], subject["fence"], subject["decision"], subject["code"]) == (
        held.activity, fence, "attest_absence", "operation_ref_missing",
    )  # fmt: skip
    with control.begin() as tx:
        (row,) = unknowns.decided(tx, held)
        newest = tx.execute(
            select(deliveries.c.cause).where(of_key(deliveries, held))
            .order_by(deliveries.c.number.desc())
        ).scalars().first()  # fmt: skip
        told = tx.execute(
            select(func.count()).select_from(attempt_events)
            .where(attempt_events.c.world_id == held.world, attempt_events.c.type == "human")
        ).scalar_one()  # fmt: skip
    assert (row.fence, row.decision, newest, told) == (
        fence, Decision.ATTEST_ABSENCE, "decided", 1,
    )  # fmt: skip
    assert a_claim(control, worker, held).fence == fence + 1


def test_who_abandons_stops_the_work(control: Store, worker: Store, held: ActivityKey) -> None:
    """The next claim may only reconcile and close; an earlier stop stands."""
    resolve(control, LOCAL, held, held_fence(control, held), Word(Decision.ABANDON, WHY))

    with control.begin() as tx:
        assert activities.get(tx, held).stop is Stop.ABANDON


def test_a_result_that_is_found_outranks_every_decision(
    control: Store, worker: Store, held: ActivityKey
) -> None:
    """A decision writes no result and forbids none."""
    resolve(control, LOCAL, held, held_fence(control, held), LOOK)

    found = a_result(worker, a_claim(control, worker, held), author_observation())

    assert found.outcome == "green"


@pytest.mark.contract("L8")
@pytest.mark.parametrize(
    ("word", "fault"),
    [
        (Word(Decision.ADOPT, WHY, 7), DecisionNotAllowed),
        (Word(Decision.LOOK_AGAIN, WHY, 7), BadInput),
        (Word(Decision.LOOK_AGAIN, " \n"), ReasonMissing),
    ],
)
def test_a_wrong_decision_is_refused_and_changes_nothing(
    control: Store, held: ActivityKey, word: Word, fault: type[FencepostError]
) -> None:
    """No row, no receipt, no delivery."""
    fence, before = held_fence(control, held), count(control, receipts)

    with pytest.raises(fault):
        resolve(control, LOCAL, held, fence, word)

    assert held_fence(control, held) == fence
    assert count(control, receipts) == before


def test_what_is_not_held_cannot_be_decided(control: Store, held: ActivityKey) -> None:
    """A claim that was not held has no unknown."""
    with pytest.raises(NoOpenUnknown):
        resolve(control, LOCAL, held, Fence(99), LOOK)


@pytest.mark.contract("T06")
def test_the_same_key_decides_once(control: Store, held: ActivityKey) -> None:
    """The repeat is granted and adds nothing; another decision under the key is a conflict."""
    fence = held_fence(control, held)
    resolve(control, LOCAL, held, fence, LOOK, idempotency="k")
    before = count(control, receipts)

    resolve(control, LOCAL, held, fence, LOOK, idempotency="k")

    assert count(control, receipts) == before
    with pytest.raises(IdempotencyConflict):
        resolve(control, LOCAL, held, fence, Word(Decision.ABANDON, WHY), idempotency="k")


def test_of_many_at_once_one_decides(control: Store, held: ActivityKey) -> None:
    """The others are told who was first, and what was said; nothing of theirs is kept."""
    fence = held_fence(control, held)
    attested, abandoned = Word(Decision.ATTEST_ABSENCE, WHY), Word(Decision.ABANDON, WHY)
    words = [attested, abandoned, LOOK]

    def ask(word: Word) -> str:
        try:
            resolve(control, LOCAL, held, fence, word)
        except AlreadyDecided as fault:
            return fault.code
        return word.decision

    with ThreadPoolExecutor(len(words)) as pool:
        said = list(pool.map(ask, words))

    (winner,) = [one for one in said if one != "already_decided"]
    with control.begin() as tx:
        (row,) = unknowns.decided(tx, held)
        stop = activities.get(tx, held).stop
    assert row.decision == winner
    assert (stop is not None) == (winner == Decision.ABANDON)


@pytest.mark.contract("S05", "L11")
def test_deciding_needs_an_approver() -> None:
    """An operator runs work, and does not vouch for what nobody can prove."""
    operator = Principal("p", "op", frozenset({Scope.OPERATOR, Scope.ADMIN}))

    with pytest.raises(ScopeMissing):
        require(operator, "resolve")
