"""Speaking under a claim: its key and fence in every row, its token in every transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict

from sqlalchemy import Table, func, select, tuple_
from sqlalchemy.sql import ColumnElement

from app.domain.identity import ActivityKey, Claim
from app.store.engine import Tx


class KeyColumns(TypedDict):
    """The columns of an activity's key."""

    world_id: str
    kind: str
    activity_id: str


class FencedColumns(KeyColumns):
    """The columns of an activity's key, and the fence."""

    fence: int


def present(tx: Tx, claim: Claim) -> None:
    """Show the claim's token to the trigger, for this transaction alone."""
    tx.execute(select(func.set_config("fencepost.token", claim.token, True)))


def keyed(key: ActivityKey) -> KeyColumns:
    """Column values of a key."""
    return {"world_id": key.world, "kind": key.kind, "activity_id": key.activity}


def fenced(claim: Claim) -> FencedColumns:
    """Column values of a write under a claim."""
    return {**keyed(claim.key), "fence": claim.fence}


def of_key(table: Table, key: ActivityKey) -> ColumnElement[bool]:
    """The rows of one activity."""
    return (
        (table.c.world_id == key.world)
        & (table.c.kind == key.kind)
        & (table.c.activity_id == key.activity)
    )


def among(table: Table, keys: Collection[ActivityKey]) -> ColumnElement[bool]:
    """The rows of these activities."""
    rows = [(key.world, key.kind, key.activity) for key in keys]
    return tuple_(table.c.world_id, table.c.kind, table.c.activity_id).in_(rows)
