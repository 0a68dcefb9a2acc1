"""The observation of work that ended without a run: canceled, dead, abandoned, or refused."""

from __future__ import annotations

from app.domain.digest import Json, canonical, text
from app.domain.result import Observation, Outcome


def ending(outcome: Outcome, code: str, detail: str) -> Observation:
    """A non-green record of the same shape as every other, with the reason as its friction (L9)."""
    value: dict[str, Json] = {
        "v": 1,
        "outcome": outcome,
        "sandbox": {},
        "execution": {"ran": False},
        "checks": [],
        "commits": [],
        "frictions": [{"code": code, "detail": text(detail)[:2000]}],
    }
    return Observation(outcome, canonical(value))
