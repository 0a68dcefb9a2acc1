"""A work order that was named, what may be said with it, and what is told afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import click

from app.cli.asked import Asked
from app.cli.asked import asked as asked_for
from app.cli.shown import as_json
from app.cli.work_order_told import then
from app.domain.identity import WorldId
from app.store.engine import Store
from app.store.views.work_order import work_order_seen

Decorated = Callable[..., Any]


def changes(function: Decorated) -> Decorated:
    """The options of every verb that changes a work order."""
    key = click.option("--key", help="Asking again under this key does nothing twice.")
    in_full = click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
    return key(in_full(function))


def why(*, required: bool = False) -> Callable[[Decorated], Decorated]:
    """The option that says why."""
    return click.option("--reason", required=required, help="Why; it is kept.")


def asked(prefix: str, verb: str) -> AbstractContextManager[Asked]:
    """The work order whose id begins so, for somebody who may do this to it."""
    return asked_for("work order", prefix, verb)


def done(store: Store, world: WorldId, work_order: str, *, in_full: bool) -> None:
    """Say what it is now, and what is useful next."""
    with store.begin() as tx:
        seen = work_order_seen(tx, world, work_order)
    if in_full:
        return as_json(seen)
    print(f"{seen.id} {seen.state}")
    return print(f"next: fencepost {then(seen)}", file=sys.stderr)
