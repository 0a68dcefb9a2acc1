"""Which claims of an activity have begun something: started a process, or called a forge (Q09)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CompoundSelect, select, union

from app.domain.identity import ActivityKey
from app.store.fencing import of_key
from app.store.schema import effect_answers, effect_calls, starts


def fences_begun(key: ActivityKey) -> CompoundSelect[Any]:
    """Their fences; a call that its forge refused has begun nothing, as `next_fence` counts it."""
    refused = (
        select(effect_answers.c.n)
        .where(of_key(effect_answers, key), effect_answers.c.outcome == "refused")
        .where(effect_answers.c.call_fence == effect_calls.c.fence)
        .where(effect_answers.c.n == effect_calls.c.n)
    )
    return union(
        select(starts.c.fence).where(of_key(starts, key)),
        select(effect_calls.c.fence).where(of_key(effect_calls, key), ~refused.exists()),
    )
