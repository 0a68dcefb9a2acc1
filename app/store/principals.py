"""Principals and their tokens; no statement here can read a token's hash."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, text, update

from app.domain.authority import Principal, Scope
from app.domain.errors import NotFound
from app.domain.identity import WorldId
from app.store import clock
from app.store.engine import Tx
from app.store.schema import principals, worlds

_SEEN = (
    principals.c.principal_id, principals.c.name, principals.c.scopes, principals.c.worlds,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Listed:
    """A principal as people list it."""

    id: str
    name: str
    scopes: tuple[str, ...]
    worlds: tuple[str, ...] | None  #: by their names; None: every world
    created_at: datetime
    revoked_at: datetime | None


def add(tx: Tx, new: Principal, token: str) -> None:
    """Insert a principal with the hash of its token; a name that is taken is NameTaken."""
    bound = None if new.worlds is None else sorted(new.worlds)
    tx.execute(
        insert(principals).values(
            principal_id=new.id, name=new.name, scopes=sorted(new.scopes), worlds=bound,
            token_hash=hashlib.sha256(token.encode()).hexdigest(),
        )
    )  # fmt: skip


def authenticate(tx: Tx, token: str) -> Principal | None:
    """Whose token this is, unless it was revoked; the database compares, and tells no hash."""
    row = tx.execute(
        text("select principal_id, name, scopes, worlds from fencepost.authenticate(:token)"),
        {"token": token},
    ).one_or_none()
    return _principal(row) if row else None


def get(tx: Tx, principal_id: str) -> Principal:
    """A principal by its id; NotFound."""
    row = tx.execute(select(*_SEEN).where(principals.c.principal_id == principal_id)).one_or_none()
    if row is None:
        raise NotFound(f"no principal {principal_id}")
    return _principal(row)


def named(tx: Tx, name: str) -> Principal:
    """A principal by its name; NotFound."""
    row = tx.execute(select(*_SEEN).where(principals.c.name == name)).one_or_none()
    if row is None:
        raise NotFound(f"no principal is called {name}", hint="list them: `fencepost tokens list`")
    return _principal(row)


def listed(tx: Tx) -> list[Listed]:
    """Every principal, newest first."""
    names = {row.world_id: row.name for row in tx.execute(select(worlds.c.world_id, worlds.c.name))}
    rows = tx.execute(
        select(*_SEEN, principals.c.created_at, principals.c.revoked_at)
        .order_by(principals.c.created_at.desc(), principals.c.principal_id)
    )  # fmt: skip
    return [
        Listed(
            row.principal_id, row.name, tuple(row.scopes),
            None if row.worlds is None else tuple(sorted(names[one] for one in row.worlds)),
            row.created_at, row.revoked_at,
        )
        for row in rows
    ]  # fmt: skip


def revoke(tx: Tx, principal_id: str) -> bool:
    """Let a token open nothing any more; False where it does not already."""
    done = tx.execute(
        update(principals)
        .where(principals.c.principal_id == principal_id, principals.c.revoked_at.is_(None))
        .values(revoked_at=clock.now())
        .returning(principals.c.principal_id)
    ).scalar()
    return done is not None


def _principal(row: Any) -> Principal:
    bound: Collection[str] | None = row.worlds
    return Principal(
        row.principal_id, row.name, frozenset(Scope(one) for one in row.scopes),
        None if bound is None else frozenset(WorldId(one) for one in bound),
    )  # fmt: skip
