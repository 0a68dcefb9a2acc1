"""Dismissing dead letters: a person has seen them, and nothing will come of them (Q05)."""

from __future__ import annotations

from collections.abc import Collection

from app.domain.digest import text
from app.domain.errors import NoRecoveryReason, UnfitInput
from app.domain.task import SHORTEST_REASON
from app.events import Moment, emit
from app.store import dead_letters
from app.store.engine import Store

_LONGEST_REASON = 2000


def dismiss(store: Store, actor: str, reason: str, letters: Collection[int]) -> list[int]:
    """Write down who dismisses which letters and why; returned are those that were open.

    One that was replayed, or dismissed before, is left as it is. The letters themselves stay (L7).
    """
    why = check_reason(reason)
    with store.begin() as tx:
        done = dead_letters.dismiss(tx, letters, actor, why)
    if done:
        emit(Moment.LETTERS_DISMISSED, letters=len(done), first=done[0], by=actor)
    return done


def check_reason(reason: str) -> str:
    """The reason as it is kept; one that says nothing is NoRecoveryReason."""
    why = text(reason).strip()
    if len(why) < SHORTEST_REASON:
        raise NoRecoveryReason(f"a dismissal's reason has at least {SHORTEST_REASON} characters")
    if len(why) > _LONGEST_REASON:
        raise UnfitInput(f"a reason has at most {_LONGEST_REASON} characters")
    return why
