"""What is done to a work order once it is written down."""

from __future__ import annotations

import sys

import click

from app.cli.base import base_of
from app.cli.shown import as_json
from app.cli.work_order_asked import asked, changes, done, why
from app.domain.board import Column
from app.domain.digest import Digest
from app.domain.lifecycle import may_run
from app.store import board, work_orders
from app.transitions.approve import approve as approve_order
from app.transitions.cancel_work_order import cancel_work_order
from app.transitions.complete import complete as complete_order
from app.transitions.dispatch import dispatch as dispatch_task
from app.transitions.move import move
from app.transitions.reject import reject as reject_order
from app.transitions.submit import submit as submit_order


@click.command()
@click.argument("work_order")
@why()
@changes
def submit(work_order: str, reason: str | None, key: str | None, in_full: bool) -> None:
    """Ask for the approval of a draft."""
    with asked(work_order, "submit") as one:
        submit_order(one.store, one.world, one.actor, one.id, reason=reason, key=key)
        done(one.store, one.world, one.id, in_full=in_full)


@click.command()
@click.argument("work_order")
@click.option("--digest", help="That was looked at; a work order that was revised is refused.")
@why()
@changes
def approve(
    work_order: str, digest: str | None, reason: str | None, key: str | None, in_full: bool
) -> None:
    """Allow exactly what a work order says now; nothing starts by that."""
    with asked(work_order, "approve") as one:
        seen = None if digest is None else Digest(digest)
        approve_order(one.store, one.world, one.actor, one.id, seen, reason=reason, key=key)
        done(one.store, one.world, one.id, in_full=in_full)


@click.command()
@click.argument("work_order")
@why(required=True)
@changes
def reject(work_order: str, reason: str, key: str | None, in_full: bool) -> None:
    """Say no to what was submitted, and why; it can be revised."""
    with asked(work_order, "reject") as one:
        reject_order(one.store, one.world, one.actor, one.id, reason, key=key)
        done(one.store, one.world, one.id, in_full=in_full)


@click.command()
@click.argument("work_order")
@why()
@changes
def dispatch(work_order: str, reason: str | None, key: str | None, in_full: bool) -> None:
    """Begin the first attempt of an approved work order's task, from its base's newest commit."""
    with asked(work_order, "dispatch") as one:
        with one.store.begin() as tx:
            task = work_orders.first_task(tx, one.world, one.id)
            order = board.work_order(tx, one.world, one.id)
            column = board.task(tx, one.world, task).column
        base = base_of(one.store, one.home, one.world, task)
        if column is Column.INBOX and may_run(order.state, order.digest, order.approved):
            move(one.store, one.world, one.actor, task, Column.READY, "dispatched by a person")
        attempt = dispatch_task(
            one.store, one.world, one.actor, task, base, reason, work_order=one.id, key=key
        )
    if in_full:
        return as_json({"attempt": attempt, "task": task, "work_order": one.id})
    print(attempt)
    return print(f"next: fencepost logs {attempt} --follow", file=sys.stderr)


@click.command()
@click.argument("work_order")
@why()
@changes
def complete(work_order: str, reason: str | None, key: str | None, in_full: bool) -> None:
    """Say that a work order is done: each of its tasks is done or canceled."""
    with asked(work_order, "complete") as one:
        complete_order(one.store, one.world, one.actor, one.id, reason=reason, key=key)
        done(one.store, one.world, one.id, in_full=in_full)


@click.command()
@click.argument("work_order")
@why(required=True)
@changes
def cancel(work_order: str, reason: str, key: str | None, in_full: bool) -> None:
    """Give a work order up; an attempt under way is canceled first."""
    with asked(work_order, "cancel_work_order") as one:
        cancel_work_order(one.store, one.world, one.actor, one.id, reason, key=key)
        done(one.store, one.world, one.id, in_full=in_full)


VERBS = (submit, approve, reject, dispatch, complete, cancel)
