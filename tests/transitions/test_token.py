"""Tokens: shown once, kept as a hash that nobody reads, bound to scopes and worlds, revocable."""

from __future__ import annotations

import hashlib
import re
from typing import LiteralString

import psycopg
import pytest
from fixtures.database import Database
from fixtures.world import a_world

from app.cli.acting import acting, allowed
from app.config import Settings, read
from app.domain.authority import NEEDED, Principal, Scope, require
from app.domain.errors import (
    BadInput,
    NameTaken,
    NotFound,
    ScopeMissing,
    TokenRefused,
    WorldForbidden,
    WrongState,
)
from app.domain.identity import WorldId, mint
from app.store import principals
from app.store.engine import Store
from app.transitions.change import LOCAL
from app.transitions.create_token import create_token
from app.transitions.open_world import open_world
from app.transitions.revoke_token import revoke_token

pytestmark = pytest.mark.contract("S01")


def whose(store: Store, token: str) -> Principal | None:
    with store.begin() as tx:
        return principals.authenticate(tx, token)


def settings(token: str | None) -> Settings:
    return read({"HOME": "/nowhere"} | ({"FENCEPOST_TOKEN": token} if token else {}))


def test_a_token_opens_what_it_was_made_for(store: Store) -> None:
    """It is long and random, and whoever has it is its principal."""
    new = create_token(store, "ana", [Scope.OPERATOR, Scope.VIEWER])

    assert re.fullmatch(r"fp_[A-Za-z0-9_-]{40}", new.secret)
    assert whose(store, new.secret) == new.principal
    assert whose(store, new.secret + "x") is None
    assert whose(store, "") is None
    assert new.secret not in repr(new)


def test_the_database_keeps_a_hash_alone(store: Store, database: Database) -> None:
    """Whoever copies the table cannot use it."""
    new = create_token(store, "ana", [Scope.VIEWER])

    with database.as_superuser() as session:
        rows = session.execute("select * from fencepost.principals where name = 'ana'").fetchall()
    assert new.secret not in repr(rows)
    assert hashlib.sha256(new.secret.encode()).digest() in rows[0]


@pytest.mark.contract("S02")
@pytest.mark.parametrize(
    ("login", "statement"),
    [
        ("app", "select token_hash from fencepost.principals"),
        ("app", "select * from fencepost.principals"),
        ("app", "select name from fencepost.principals where token_hash is not null"),
        ("app", "update fencepost.principals set token_hash = sha256('mine')"),
        ("app", "update fencepost.principals set scopes = '{admin}'"),
        ("app", "update fencepost.principals set worlds = null"),
        ("app", "insert into fencepost.principals (principal_id, name, scopes)"
                " values ('a', 'b', '{}') returning token_hash"),
        ("app", "delete from fencepost.principals"),
        ("worker", "select name from fencepost.principals"),
        ("worker", "select * from fencepost.authenticate('fp_guess')"),
        ("worker", "insert into fencepost.principals (principal_id, name, scopes)"
                   " values ('a', 'b', '{admin}')"),
        ("worker", "update fencepost.principals set revoked_at = now()"),
    ],
)  # fmt: skip
def test_no_login_reads_a_hash_or_widens_a_scope(
    common: Database, login: str, statement: LiteralString
) -> None:
    """The control plane adds and revokes; a worker knows nothing of principals."""
    with (
        common.connect(common.app_url if login == "app" else common.worker_url) as session,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        session.execute(statement)


@pytest.mark.contract("L7")
def test_a_principal_is_never_rewritten(store: Store, database: Database) -> None:
    """Receipts name it: not even the owner deletes one or takes a revocation back."""
    create_token(store, "ana", [Scope.VIEWER])
    revoke_token(store, "ana")

    for statement in (
        "delete from fencepost.principals",
        "update fencepost.principals set revoked_at = null where name = 'ana'",
        "update fencepost.principals set scopes = '{admin}' where name = 'ana'",
    ):
        with database.as_owner() as session, pytest.raises(psycopg.DatabaseError) as refusal:
            session.execute(statement)
        assert refusal.value.sqlstate == "ZF007"


def test_a_revoked_token_opens_nothing(store: Store) -> None:
    """From the moment it is revoked; and its name is never used again."""
    new = create_token(store, "ana", [Scope.ADMIN])
    revoke_token(store, "ana")

    assert whose(store, new.secret) is None
    with pytest.raises(TokenRefused):
        acting(store, settings(new.secret))
    with pytest.raises(WrongState):
        revoke_token(store, "ana")
    with pytest.raises(NameTaken):
        create_token(store, "ana", [Scope.VIEWER])


@pytest.mark.parametrize("name", ["local", "dispatcher"])
def test_who_has_no_token_cannot_lose_it(store: Store, name: str) -> None:
    """The owner of FENCEPOST_HOME stays, and so does the dispatcher."""
    with pytest.raises(WrongState):
        revoke_token(store, name)


def test_a_token_of_nobody_is_refused(store: Store) -> None:
    """A wrong token does not fall back to the owner of FENCEPOST_HOME."""
    with pytest.raises(TokenRefused):
        acting(store, settings("fp_" + "a" * 40))


def test_without_a_token_the_owner_of_the_home_acts(store: Store) -> None:
    """They are `local`, with every scope, in every world."""
    owner = acting(store, settings(None))

    assert owner.id == LOCAL
    for verb in NEEDED:
        require(owner, verb)
        require(owner, verb, WorldId("w_any"))


def test_a_scope_opens_its_verbs_alone(store: Store) -> None:
    """Operators do not approve, approvers do not dispatch, admins do neither; all may look."""
    world = a_world(store)
    for scope in Scope:
        token = create_token(store, str(scope), [scope]).secret
        for verb, needed in NEEDED.items():
            if needed in (scope, Scope.VIEWER):
                assert allowed(store, settings(token), verb, world)
            else:
                with pytest.raises(ScopeMissing):
                    allowed(store, settings(token), verb, world)


def test_a_verb_that_nobody_listed_is_for_the_admin() -> None:
    """Forgetting a row of the table opens nothing."""
    operator = Principal("p", "p", frozenset([Scope.OPERATOR, Scope.APPROVER]))

    with pytest.raises(ScopeMissing):
        require(operator, "a_new_verb")


def test_a_token_is_bound_to_its_worlds(store: Store) -> None:
    """In another world, and for the installation itself, it is as good as none."""
    name = mint("world")
    here, there = open_world(store, name), a_world(store)
    bound = settings(create_token(store, "ana", list(Scope), [name]).secret)

    assert allowed(store, bound, "dispatch", here)
    for world in (there, None):
        with pytest.raises(WorldForbidden):
            allowed(store, bound, "dispatch", world)
    with pytest.raises(WorldForbidden):
        allowed(store, bound, "create_token")


def test_a_token_without_a_name_a_scope_or_a_world_is_not_made(store: Store) -> None:
    """What would open nothing, or could not be named again, is refused."""
    for name in ("", "-x", "a b", "a" * 64, "ä"):
        with pytest.raises(BadInput):
            create_token(store, name, [Scope.VIEWER])
    with pytest.raises(BadInput):
        create_token(store, "ana", [])
    with pytest.raises(NotFound):
        create_token(store, "ana", [Scope.VIEWER], ["no such world"])
    with store.begin() as tx:
        assert {one.name for one in principals.listed(tx)} == {"local", "dispatcher"}
