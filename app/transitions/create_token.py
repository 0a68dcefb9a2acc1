"""Creating a principal with a token."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field

from app.domain.authority import Principal, Scope
from app.domain.errors import BadInput
from app.domain.identity import WorldId, mint
from app.store import principals, worlds
from app.store.engine import Store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")


@dataclass(frozen=True, slots=True)
class Token:
    """A new principal and its secret, which nobody can be told again."""

    principal: Principal
    secret: str = field(repr=False)


def create_token(
    store: Store, name: str, scopes: Collection[Scope], world_names: Collection[str] | None = None
) -> Token:
    """A principal with these scopes, bound to the worlds that are named, or to none.

    Its token is returned this once; the database keeps the hash alone, and no login reads that.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} cannot name a principal", hint="letters, digits, and ._@-")
    if not scopes:
        raise BadInput("a token without a scope opens nothing", hint="give --scope")
    secret = "fp_" + secrets.token_urlsafe(30)  # 240 bits, 40 characters
    with store.begin() as tx:
        bound = None
        if world_names is not None:
            bound = frozenset[WorldId](worlds.named(tx, one) for one in world_names)
        new = Principal(mint("p"), name, frozenset(scopes), bound)
        principals.add(tx, new, secret)
    return Token(new, secret)
