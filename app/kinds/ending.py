"""Observations, as all of them are made; and that of work that ended without a run."""

from __future__ import annotations

from app import secrecy
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
        "frictions": [{"code": code, "detail": text(secrecy.redacted(detail))[:2000]}],
    }
    return observation_of(outcome, value)


def observation_of(outcome: Outcome, value: Json) -> Observation:
    """The canonical bytes of what was observed, without a secret in them (E09)."""
    return Observation(outcome, canonical(secrecy.redacted_value(value)))
