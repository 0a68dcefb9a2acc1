"""The kinds of activity there are."""

from __future__ import annotations

from datetime import timedelta

from app.domain.identity import Kind
from app.kinds.author import AUTHOR
from app.kinds.base import KindOf
from app.kinds.checks import CHECKS
from app.kinds.command import COMMAND
from app.kinds.pull_request import PULL_REQUEST

KINDS: dict[Kind, KindOf] = {kind.name: kind for kind in (AUTHOR, COMMAND, PULL_REQUEST, CHECKS)}


def check(lease: timedelta | None) -> None:
    """Raise LimitsUnfit unless every kind can work with this lease; None: with its own (T08)."""
    for kind in KINDS.values():
        kind.limits.with_lease(lease)
