"""Settings, read once at a process edge and passed down as arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.domain.errors import SetupError


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process is told from outside; each has a sentence in compose/example.env."""

    home: Path  #: FENCEPOST_HOME
    database_url: str | None  #: FENCEPOST_DATABASE_URL, of this process's own login
    redis_url: str | None  #: FENCEPOST_REDIS_URL
    listen_url: str | None  #: FENCEPOST_LISTEN_URL: a direct one for LISTEN, behind a pooler
    lease: timedelta | None = None  #: FENCEPOST_LEASE, seconds; else as each kind says


class SettingMissing(SetupError):
    """A process needs a setting that it was not given."""

    code = "setting_missing"


class SettingUnfit(SetupError):
    """A setting has a value that cannot be used."""

    code = "setting_unfit"


def read(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the environment; nothing is created and nothing is connected."""
    return Settings(
        home=home(environment),
        database_url=environment.get("FENCEPOST_DATABASE_URL") or None,
        redis_url=environment.get("FENCEPOST_REDIS_URL") or None,
        listen_url=environment.get("FENCEPOST_LISTEN_URL") or None,
        lease=_seconds(environment.get("FENCEPOST_LEASE")),
    )


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """FENCEPOST_HOME, else the XDG state folder; never inside the repository one stands in."""
    if given := environment.get("FENCEPOST_HOME"):
        return Path(given).expanduser().absolute()
    state = environment.get("XDG_STATE_HOME")
    base = (
        Path(state) if state else Path(environment.get("HOME", "~")).expanduser() / ".local/state"
    )
    return (base / "fencepost").absolute()


def _seconds(given: str | None) -> timedelta | None:
    if not given:
        return None
    try:
        length = timedelta(seconds=float(given))
    except ValueError:
        raise SettingUnfit(f"FENCEPOST_LEASE is not a number of seconds: {given}") from None
    if not timedelta(seconds=3) <= length <= timedelta(hours=1):
        raise SettingUnfit(f"FENCEPOST_LEASE is not between 3 seconds and an hour: {given}")
    return length


def required(value: str | None, name: str) -> str:
    """A setting that must be there, or SettingMissing."""
    if value is None:
        raise SettingMissing(f"{name} is not set", hint=f"set {name}; see compose/example.env")
    return value
