"""The life of a work order: legal verbs alone, bound to what was approved, by whoever may."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from fixtures.board import a_draft, refused, verbs_of
from fixtures.database import Database
from fixtures.world import BASE, a_dispatched_attempt, a_world
from sqlalchemy import func, select

from app.domain.authority import Scope
from app.domain.board import Column, WorkOrderState
from app.domain.errors import (
    ActiveAttempt,
    BadInput,
    DigestConflict,
    IdempotencyConflict,
    NotApproved,
    NotFound,
    SecondPersonNeeded,
    UnsettledWork,
    WrongState,
)
from app.domain.identity import WorldId
from app.domain.lifecycle import LIFE, VERBS, may_run
from app.domain.work_order import Specification
from app.store import board
from app.store.board import WorkOrder
from app.store.engine import Store
from app.store.schema import activities, attempts, deliveries, facts
from app.store.views.work_order import work_order_seen
from app.transitions.approve import approve
from app.transitions.cancel_work_order import cancel_work_order
from app.transitions.change import LOCAL
from app.transitions.complete import complete
from app.transitions.create_token import create_token
from app.transitions.dispatch import dispatch
from app.transitions.draft import Draft, draft
from app.transitions.move import move
from app.transitions.reject import reject
from app.transitions.revise import revise
from app.transitions.submit import submit

WHY = "it is asked for"

#: The verbs that lead to each state from a draft.
WAY = {
    WorkOrderState.DRAFT: (),
    WorkOrderState.SUBMITTED: ("submit",),
    WorkOrderState.APPROVED: ("submit", "approve"),
    WorkOrderState.REJECTED: ("submit", "reject"),
    WorkOrderState.ACTIVE: ("submit", "approve", "dispatch"),
    WorkOrderState.COMPLETED: ("submit", "approve", "dispatch", "complete"),
    WorkOrderState.CANCELED: ("cancel",),
}


class Order:
    """A work order in the hands of somebody who may do everything."""

    def __init__(self, store: Store, database: Database) -> None:
        self.store, self.database = store, database
        self.world = a_world(store)
        self.new: Draft = a_draft(store, self.world)

    @property
    def now(self) -> WorkOrder:
        with self.store.begin() as tx:
            return board.work_order(tx, self.world, self.new.work_order)

    def walk(self, *verbs: str) -> None:
        for verb in verbs:
            self.ask(verb)

    def ask(self, verb: str, actor: str = LOCAL) -> None:
        where = (self.store, self.world, actor, self.new.work_order)
        match verb:
            case "submit":
                submit(*where)
            case "approve":
                approve(*where)
            case "reject":
                reject(*where, WHY)
            case "revise":
                revise(*where, self.saying("something else"))
            case "complete":
                self.end_attempts()
                complete(*where)
            case "cancel":
                cancel_work_order(*where, WHY)
            case "dispatch":
                self.dispatch()

    def dispatch(self) -> str:
        if board_column(self.store, self.world, self.new.task) is Column.INBOX:
            move(self.store, self.world, LOCAL, self.new.task, Column.READY, WHY)
        return dispatch(self.store, self.world, LOCAL, self.new.task, BASE)

    def saying(self, title: str) -> Specification:
        return replace(specification(), title=title)

    def end_attempts(self) -> None:
        """Stand in for a run that ended, and for the person who then moved the card."""
        with self.database.as_superuser() as session:
            session.execute(
                "update fencepost.attempts set ended_at = clock_timestamp(), outcome = 'failed'"
                " where world_id = %s and ended_at is null", [self.world],
            )  # fmt: skip
            session.execute(
                "update fencepost.tasks set board_column = 'done' where world_id = %s", [self.world]
            )


def specification() -> Specification:
    limit = timedelta(minutes=10)
    return Specification("Tidy", BASE.branch, (), ("true",), (), limit, limit)


def board_column(store: Store, world: WorldId, task: str) -> Column:
    with store.begin() as tx:
        return board.task(tx, world, task).column


@pytest.fixture
def order(store: Store, database: Database) -> Order:
    """A draft in a world of its own."""
    return Order(store, database)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_leads_where_the_table_says_and_nowhere_else(
    store: Store, database: Database, verb: str
) -> None:
    """From every state: a legal verb leads on, any other is refused and leaves no trace."""
    legal = {(one.before, one.meaning): one.after for one in LIFE}
    for state in WorkOrderState:
        order = Order(store, database)
        order.walk(*WAY[state])
        order.end_attempts()
        before = verbs_of(store, order.world)
        assert order.now.state is state

        if verb == "dispatch":
            # the card is done by now; that an active one is dispatched again is a retry's test
            assert may_run(state, "a", "a") is ((state, verb) in legal)
        elif (state, verb) in legal:
            order.ask(verb)
            assert order.now.state is legal[state, verb]
        else:
            with pytest.raises(WrongState) as refusal:
                order.ask(verb)
            assert str(state) in refusal.value.message
            assert refusal.value.advice
            assert (order.now.state, verbs_of(store, order.world)) == (state, before)


@pytest.mark.contract("O01")
def test_approval_alone_starts_nothing(order: Order) -> None:
    """An approved work order has no attempt, no activity and no delivery until it is dispatched."""
    order.walk("submit", "approve")

    with order.store.begin() as tx:
        for table in (attempts, activities, deliveries):
            of_world = select(func.count()).where(table.c.world_id == order.world)
            assert tx.execute(of_world).scalar_one() == 0
    assert board_column(order.store, order.world, order.new.task) is Column.INBOX


def test_a_revision_is_a_draft_that_needs_a_new_approval(order: Order) -> None:
    """The digest changes, the approval is gone, and nothing is dispatched under the old one."""
    order.walk("submit", "approve")
    approved = order.now.approved

    new = revise(order.store, order.world, LOCAL, order.now.id, order.saying("Wipe the disk"))

    now = order.now
    assert (now.state, now.approved, now.approved_by) == (WorkOrderState.DRAFT, None, None)
    assert now.digest == new != approved
    assert now.title == "Wipe the disk"
    with pytest.raises(NotApproved):
        order.dispatch()
    order.walk("submit", "approve")
    assert order.now.approved == new
    assert order.dispatch()


def test_what_a_work_order_said_before_stays(order: Order) -> None:
    """Every revision is a fact of the receipt that made it."""
    first = order.now.digest
    second = revise(order.store, order.world, LOCAL, order.now.id, order.saying("Again"))

    with order.store.begin() as tx:
        query = select(facts.c.digest).where(
            facts.c.world_id == order.world, facts.c.component == "WorkOrder"
        )
        kept = list(tx.execute(query.order_by(facts.c.tick)).scalars())
        seen = work_order_seen(tx, order.world, order.now.id)
    assert kept == [first, second]
    assert [(one.verb, one.digest) for one in seen.history] == [
        ("draft", first), ("revise", second),
    ]  # fmt: skip


def test_whoever_approves_says_what_they_looked_at(order: Order) -> None:
    """A work order that was revised in between is not approved by mistake."""
    looked_at = order.now.digest
    revise(order.store, order.world, LOCAL, order.now.id, order.saying("Wipe the disk"))
    order.walk("submit")

    with refused(order.store, order.world, DigestConflict, "digest_conflict"):
        approve(order.store, order.world, LOCAL, order.now.id, looked_at)

    assert approve(order.store, order.world, LOCAL, order.now.id, order.now.digest)


@pytest.mark.parametrize(
    "change",
    [
        "state = 'approved'",
        "state = 'active', approved_digest = sha256('other'), approved_by = 'local'",
        "state = 'completed', approved_by = 'local'",
        "approved_digest = digest",
    ],
)
def test_the_database_binds_work_to_the_approved_digest(
    order: Order, database: Database, change: str
) -> None:
    """No statement, not even the owner's, makes work runnable that was not approved."""
    with database.as_owner() as session, pytest.raises(psycopg.errors.CheckViolation):
        session.execute(f"update fencepost.work_orders set {change}".encode())


def test_only_what_was_approved_may_run() -> None:
    """Another digest than the approved one, or none, is not enough in any state."""
    for state in WorkOrderState:
        runs = state in (WorkOrderState.APPROVED, WorkOrderState.ACTIVE)
        assert may_run(state, "a", "a") is runs
        assert not may_run(state, "a", "b")
        assert not may_run(state, "a", None)


@pytest.mark.contract("S05")
def test_a_second_person_approves_what_the_first_wrote(store: Store, order: Order) -> None:
    """The author of the latest revision cannot approve it; another principal can."""
    other = create_token(store, "other", [Scope.APPROVER]).principal.id
    careful = replace(specification(), second_person=True)
    revise(store, order.world, LOCAL, order.now.id, careful)
    submit(store, order.world, LOCAL, order.now.id)

    with refused(store, order.world, SecondPersonNeeded, "second_person_needed"):
        approve(store, order.world, LOCAL, order.now.id)
    approve(store, order.world, other, order.now.id)

    assert (order.now.approved_by, order.now.author) == (other, LOCAL)


@pytest.mark.contract("S05")
def test_whoever_revises_is_the_author(store: Store, order: Order) -> None:
    """A colleague's last-minute change is not theirs to approve; it is the first author's."""
    other = create_token(store, "other", [Scope.OPERATOR, Scope.APPROVER]).principal.id
    revise(store, order.world, other, order.now.id, replace(specification(), second_person=True))
    submit(store, order.world, other, order.now.id)

    with refused(store, order.world, SecondPersonNeeded, "second_person_needed"):
        approve(store, order.world, other, order.now.id)
    approve(store, order.world, LOCAL, order.now.id)

    assert order.now.author == other


@pytest.mark.contract("S05")
def test_the_database_knows_the_second_person_rule(order: Order, database: Database) -> None:
    """Code that forgot to look is refused by a CHECK."""
    revise(
        order.store, order.world, LOCAL, order.now.id, replace(specification(), second_person=True)
    )
    with database.as_app() as session, pytest.raises(psycopg.errors.CheckViolation) as refusal:
        session.execute(
            "update fencepost.work_orders"
            " set state = 'approved', approved_digest = digest, approved_by = author"
        )

    assert refusal.value.diag.constraint_name == "work_orders_second_person"


def test_nothing_is_taken_away_from_under_an_attempt(order: Order) -> None:
    """While an attempt is under way the work order is neither revised, completed nor canceled."""
    order.walk("submit", "approve", "dispatch")
    where = (order.store, order.world, LOCAL, order.now.id)

    for verb in (
        lambda: revise(*where, order.saying("Again")),
        lambda: complete(*where),
        lambda: cancel_work_order(*where, WHY),
    ):
        with refused(order.store, order.world, ActiveAttempt, "active_attempt"):
            verb()


def test_a_work_order_with_open_tasks_is_not_complete(order: Order, database: Database) -> None:
    """Somebody has to say of each task that it is done, or not wanted."""
    order.walk("submit", "approve", "dispatch")
    order.end_attempts()
    with database.as_superuser() as session:
        session.execute("update fencepost.tasks set board_column = 'review'")

    with refused(order.store, order.world, UnsettledWork, "unsettled_work") as refusal:
        complete(order.store, order.world, LOCAL, order.now.id)

    assert order.new.task in refusal.value.message


def test_a_rejection_says_why(order: Order) -> None:
    """Whoever wrote it has to know what to change; the reason is in the history."""
    order.walk("submit")
    with pytest.raises(BadInput):
        reject(order.store, order.world, LOCAL, order.now.id, "  ")
    reject(order.store, order.world, LOCAL, order.now.id, "the scope is too wide")

    with order.store.begin() as tx:
        last = work_order_seen(tx, order.world, order.now.id).history[-1]
    assert (last.verb, last.actor, last.reason) == ("reject", "local", "the scope is too wide")


@pytest.mark.contract("T06")
def test_a_verb_is_carried_out_once_under_its_key(order: Order) -> None:
    """Asking again gives the first answer; asking for something else under the key is refused."""
    where = (order.store, order.world, LOCAL, order.now.id)
    submit(*where, key="s")
    first = approve(*where, key="a")
    before = len(verbs_of(order.store, order.world))

    submit(*where, key="s")
    again = approve(*where, key="a")

    assert again == first
    assert len(verbs_of(order.store, order.world)) == before
    with refused(order.store, order.world, IdempotencyConflict, "idempotency_conflict"):
        revise(*where, order.saying("Again"), key="a")


def test_a_work_order_of_another_world_is_not_there(store: Store, order: Order) -> None:
    """Nothing crosses worlds."""
    elsewhere = a_dispatched_attempt(store).world

    with refused(store, elsewhere, NotFound, "not_found"):
        submit(store, elsewhere, LOCAL, order.now.id)


def test_a_draft_is_written_once_under_its_key(store: Store, order: Order) -> None:
    """The same file again is the same work order; another file is a conflict."""
    repository = order.now.repository
    first = draft(store, order.world, LOCAL, repository, specification(), key="d")

    assert draft(store, order.world, LOCAL, repository, specification(), key="d") == first
    with refused(store, order.world, IdempotencyConflict, "idempotency_conflict"):
        draft(store, order.world, LOCAL, repository, order.saying("Other"), key="d")
