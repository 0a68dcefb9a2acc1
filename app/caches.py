"""What a worker is told about its caches: how much of the disk they may take, and for how long."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app import disk
from app.config import SettingUnfit
from app.domain.duration import span
from app.domain.errors import BadInput

_LIMIT = 20 << 30
_AGE = timedelta(days=30)
_LONGEST = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class CacheBounds:
    """What caches are kept within; one that is in use stays all the same."""

    limit: int = _LIMIT  #: FENCEPOST_CACHE_LIMIT, bytes of all of them
    age: timedelta = _AGE  #: FENCEPOST_CACHE_AGE, since one was last used


def read(environment: Mapping[str, str] = os.environ) -> CacheBounds:
    """Read the environment, or refuse it as SettingUnfit."""
    limit, age = environment.get("FENCEPOST_CACHE_LIMIT"), environment.get("FENCEPOST_CACHE_AGE")
    size = disk.size(limit) if limit else _LIMIT
    if size is None:
        raise SettingUnfit(f"FENCEPOST_CACHE_LIMIT is no size: {limit}", hint="write 500M, or 20G")
    try:
        return CacheBounds(size, span(age, timedelta(0), _LONGEST) if age else _AGE)
    except BadInput as fault:
        raise SettingUnfit(f"FENCEPOST_CACHE_AGE: {fault.message}") from None
