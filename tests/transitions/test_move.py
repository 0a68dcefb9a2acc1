"""Where people may hang a card, and what is kept of every move."""

from __future__ import annotations

from itertools import product

import pytest
from fixtures.board import WHY, a_failed_attempt, hang, hangs_in, refused
from fixtures.road import newest_receipt
from fixtures.world import (
    BASE,
    a_dispatched_attempt,
    a_ready_task,
    a_world,
)

from app.domain import errors
from app.domain.board import Column
from app.domain.card import MOVES
from app.domain.transition import Hand
from app.store.engine import Store
from app.store.views.task import task_seen
from app.transitions.change import LOCAL
from app.transitions.move import move
from app.transitions.retry import retry

LEGAL = [(one.before, one.after) for one in MOVES if one.hand is Hand.PERSON]
ILLEGAL = [pair for pair in product(Column, Column) if pair not in LEGAL]


@pytest.mark.contract("T07", "L10")
@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_a_legal_move_is_a_receipt(control: Store, before: Column, after: Column) -> None:
    """Who, why, from, to, when, by which command and under which key: one receipt keeps it all."""
    world = a_world(control)
    task = a_ready_task(control, world)
    hang(control, world, task, before)

    move(control, world, LOCAL, task, after, WHY, key="k1")

    said = newest_receipt(control, world)
    assert hangs_in(control, world, task) is after
    assert (said["verb"], said["actor"], said["reason"], said["key"]) == (
        "move", LOCAL, WHY, "k1",
    )  # fmt: skip
    assert said["subject"] == {"task": task, "from": before, "to": after}
    assert said["at"]


@pytest.mark.contract("L8")
@pytest.mark.parametrize("before", list(Column))
def test_an_illegal_move_changes_nothing(control: Store, before: Column) -> None:
    """A pair of columns that is not in the table is refused, and the card stays."""
    world = a_world(control)
    task = a_ready_task(control, world)
    hang(control, world, task, before)

    for after in (column for column in Column if (before, column) in ILLEGAL):
        with refused(control, world, errors.IllegalMove, "illegal_move"):
            move(control, world, LOCAL, task, after, WHY)

    assert hangs_in(control, world, task) is before


@pytest.mark.contract("L8")
@pytest.mark.parametrize("after", [Column.READY, Column.DONE, Column.CANCELED])
def test_a_card_follows_its_attempt_while_it_is_active(control: Store, after: Column) -> None:
    """Nobody takes a card away from under work that runs; it is canceled first."""
    active = a_dispatched_attempt(control)

    with refused(control, active.world, errors.ActiveAttempt, "active_attempt"):
        move(control, active.world, LOCAL, active.task, after, WHY)


@pytest.mark.contract("T02", "L8")
def test_a_card_of_another_world_is_not_moved(control: Store) -> None:
    """It is refused as what it is, by every verb."""
    here, there = a_world(control), a_world(control)
    a_ready_task(control, here)
    task = a_ready_task(control, there)

    with refused(control, here, errors.TaskOfAnotherWorld, "task_of_another_world"):
        move(control, here, LOCAL, task, Column.INBOX, WHY)


@pytest.mark.contract("T07")
def test_a_task_tells_its_history(control: Store, worker: Store) -> None:
    """Every move of the card is read back from receipts, those too that a processor decided."""
    failed = a_failed_attempt(control, worker)
    again = retry(control, failed.world, LOCAL, failed.task, BASE, "the mirror is warm", key="k1")

    with control.begin() as tx:
        seen = task_seen(tx, failed.world, failed.task)

    told = [(one.verb, one.actor, one.before, one.after, one.attempt) for one in seen.history]
    assert told == [
        ("draft", "local", None, "inbox", None),
        ("move", "local", "inbox", "ready", None),
        ("dispatch", "local", "ready", "in_progress", failed.id),
        ("observe", "dispatcher", "in_progress", "in_progress", failed.id),
        ("retry", "local", "in_progress", "in_progress", again),
    ]
    assert (seen.history[-1].reason, seen.history[-1].key) == ("the mirror is warm", "k1")
    assert [one.tick for one in seen.history] == sorted(one.tick for one in seen.history)
    assert [(one.number, one.outcome) for one in seen.attempts] == [(1, "failed"), (2, None)]
