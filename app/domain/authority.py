"""Who may ask for what: principals, their scopes, and the scope that each verb needs (S01, S05)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from app.domain.errors import ScopeMissing, WorldForbidden
from app.domain.identity import WorldId


class Scope(StrEnum):
    """What a principal may do; none but `viewer` is part of another."""

    VIEWER = "viewer"  #: look; every other scope may, too
    OPERATOR = "operator"  #: write work orders, dispatch, retry, cancel
    APPROVER = "approver"  #: approve, reject, decide, resolve
    ADMIN = "admin"  #: tokens and worlds


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who asks."""

    id: str
    name: str
    scopes: frozenset[Scope]
    worlds: frozenset[WorldId] | None = None  #: None: every world

    def holds(self, scope: Scope) -> bool:
        """Whether it has this scope."""
        return scope in self.scopes or (scope is Scope.VIEWER and bool(self.scopes))


#: Verb → scope; one that is not listed is for the admin.
NEEDED: Mapping[str, Scope] = MappingProxyType(
    {"look": Scope.VIEWER}
    | dict.fromkeys(
        ("add_repository", "draft", "submit", "revise", "complete", "cancel_work_order", "dispatch",
         "retry", "cancel", "move", "add_child", "pause", "resume", "replay", "dismiss",
         "close", "merge"),
        Scope.OPERATOR,
    )
    | dict.fromkeys(("approve", "reject", "decide", "resolve"), Scope.APPROVER)
    | dict.fromkeys(("open_world", "create_token", "revoke_token"), Scope.ADMIN)
)  # fmt: skip


def require(principal: Principal, verb: str, world: WorldId | None = None) -> None:
    """Refuse whoever lacks the verb's scope (ScopeMissing) or the world (WorldForbidden).

    Without a world the verb is about the installation: a principal that is bound to worlds may
    not ask for it.
    """
    scope = NEEDED.get(verb, Scope.ADMIN)
    if not principal.holds(scope):
        raise ScopeMissing(f"{principal.name} has not the scope {scope}, which `{verb}` needs")
    if principal.worlds is not None and world not in principal.worlds:
        where = f"world {world}" if world else "the whole installation"
        raise WorldForbidden(f"{principal.name} is bound to other worlds; this is about {where}")
