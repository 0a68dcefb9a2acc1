"""The canonical child: once there is one, it runs and its parent does not."""

from __future__ import annotations

import pytest
from fixtures.board import WHY, a_draft, attempts_of, hangs_in, refused, verbs_of
from fixtures.world import BASE, a_ready_task, a_world

from app.domain import errors
from app.domain.board import Column
from app.domain.errors import FencepostError
from app.domain.identity import EntityId, WorldId, mint
from app.store import board
from app.store.engine import Store, Tx
from app.transitions.add_child import add_child
from app.transitions.change import LOCAL
from app.transitions.dispatch import dispatch
from app.transitions.move import move


@pytest.mark.contract("T01")
def test_the_canonical_child_is_dispatched_in_its_parents_place(control: Store) -> None:
    """The parent is refused with the child's name; the child runs under the same work order."""
    world = a_world(control)
    parent = a_ready_task(control, world)
    child = add_child(control, world, LOCAL, parent, "Tidy a part", canonical=True)
    move(control, world, LOCAL, child, Column.READY, WHY)

    with refused(control, world, errors.NotCanonicalChild, "not_canonical_child") as refusal:
        dispatch(control, world, LOCAL, parent, BASE)
    assert child in refusal.value.advice
    assert dispatch(control, world, LOCAL, child, BASE)

    assert attempts_of(control, parent) == []
    assert hangs_in(control, world, parent) is Column.READY


@pytest.mark.contract("T01")
def test_the_rule_holds_at_every_depth(control: Store) -> None:
    """A canonical child that has one itself passes the turn on."""
    world = a_world(control)
    parent = a_ready_task(control, world)
    child = add_child(control, world, LOCAL, parent, canonical=True)
    grandchild = add_child(control, world, LOCAL, child, canonical=True)
    for task in (child, grandchild):
        move(control, world, LOCAL, task, Column.READY, WHY)

    for task in (parent, child):
        with refused(control, world, errors.NotCanonicalChild, "not_canonical_child"):
            dispatch(control, world, LOCAL, task, BASE)
    assert dispatch(control, world, LOCAL, grandchild, BASE)


@pytest.mark.contract("T01")
def test_other_children_stand_in_nobodys_way(control: Store) -> None:
    """Only a canonical child takes its parent's place; both may run."""
    world = a_world(control)
    parent = a_ready_task(control, world)
    child = add_child(control, world, LOCAL, parent)
    move(control, world, LOCAL, child, Column.READY, WHY)

    assert dispatch(control, world, LOCAL, parent, BASE)
    assert dispatch(control, world, LOCAL, child, BASE)


@pytest.mark.contract("T01", "L8")
def test_a_second_canonical_child_is_refused(control: Store) -> None:
    """There is one answer to which child is meant; another child may be added beside it."""
    world = a_world(control)
    parent = a_ready_task(control, world)
    add_child(control, world, LOCAL, parent, canonical=True)

    with refused(control, world, errors.CanonicalChildExists, "canonical_child_exists"):
        add_child(control, world, LOCAL, parent, canonical=True)

    assert add_child(control, world, LOCAL, parent)
    assert verbs_of(control, world).count("add_child") == 2


@pytest.mark.contract("T01")
def test_a_second_canonical_child_is_refused_by_the_database(control: Store) -> None:
    """Without any look beforehand: the insert itself is refused, with the same code."""
    world = a_world(control)
    parent = a_ready_task(control, world)
    add_child(control, world, LOCAL, parent, canonical=True)

    with pytest.raises(errors.CanonicalChildExists), control.begin() as tx:
        insert_child(tx, world, parent, board.task(tx, world, parent).work_order)


@pytest.mark.contract("T01", "T02")
def test_a_child_of_another_work_order_is_refused_by_the_database(control: Store) -> None:
    """A child belongs to its parent's work order, whoever inserts it."""
    world = a_world(control)
    parent = a_ready_task(control, world)
    other = a_draft(control, world).work_order

    with pytest.raises(FencepostError, match="tasks_parent"), control.begin() as tx:
        insert_child(tx, world, parent, other)


def insert_child(tx: Tx, world: WorldId, parent: str, order: str) -> None:
    """A canonical child's row, without any look beforehand."""
    board.add_task(
        tx, world, 1, mint("t"), order, EntityId(99), "Another", parent=parent, canonical=True
    )


@pytest.mark.contract("T06")
def test_a_key_finds_its_child(control: Store) -> None:
    """Asked twice under one key, one child is added."""
    world = a_world(control)
    parent = a_ready_task(control, world)

    first = add_child(control, world, LOCAL, parent, key="k1")
    second = add_child(control, world, LOCAL, parent, key="k1")

    assert first == second
    assert hangs_in(control, world, first) is Column.INBOX


@pytest.mark.contract("L8")
@pytest.mark.parametrize("title", ["", "  \n", "t" * 201])
def test_a_title_has_a_length(control: Store, title: str) -> None:
    """Neither nothing nor a novel."""
    world = a_world(control)
    parent = a_ready_task(control, world)

    with refused(control, world, errors.BadInput, "bad_input"):
        add_child(control, world, LOCAL, parent, title)
