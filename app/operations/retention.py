"""For how long refs are kept after the end of their work, as it is set."""

from __future__ import annotations

from datetime import timedelta

from app.config import Settings, SettingUnfit
from app.domain.errors import BadInput
from app.domain.pruning import RETENTION, retention_of


def kept_for(settings: Settings) -> timedelta | None:
    """The retention; None: nothing is pruned by itself. SettingUnfit for one that is too short."""
    given = settings.refs_retention
    if given is None:
        return RETENTION
    if not given:
        return None
    try:
        return retention_of(given)
    except BadInput as fault:
        raise SettingUnfit(
            f"FENCEPOST_REFS_RETENTION: {fault.message}", hint=fault.advice
        ) from None
