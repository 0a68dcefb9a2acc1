"""Revoking a principal's token."""

from __future__ import annotations

from app.domain.errors import WrongState
from app.store import principals
from app.store.engine import Store

#: They have no token, so nothing can be revoked.
_OWN = ("local", "dispatcher")


def revoke_token(store: Store, name: str) -> str:
    """Let a principal's token open nothing any more, and return its id; what it did stays.

    Its name is never used again. Repeating it, or revoking one without a token, is WrongState.
    """
    with store.begin() as tx:
        known = principals.named(tx, name)
        if known.id in _OWN:
            raise WrongState(f"{known.name} has no token", hint="unset FENCEPOST_TOKEN to be it")
        if not principals.revoke(tx, known.id):
            raise WrongState(f"the token of {known.name} was revoked before", hint="nothing to do")
    return known.id
