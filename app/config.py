"""Settings, read once at a process edge and passed down as arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from app.domain.errors import SetupError


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process is told from outside; each has a sentence in compose/example.env."""

    home: Path  #: FENCEPOST_HOME
    database_url: str | None  #: FENCEPOST_DATABASE_URL, of this process's own login
    redis_url: str | None  #: FENCEPOST_REDIS_URL
    listen_url: str | None  #: FENCEPOST_LISTEN_URL: a direct one for LISTEN, behind a pooler
    lease: timedelta | None = None  #: FENCEPOST_LEASE, seconds; else as each kind says
    token: str | None = field(default=None, repr=False)  #: FENCEPOST_TOKEN: who asks; else `local`


class SettingMissing(SetupError):
    """A process needs a setting that it was not given."""

    code = "setting_missing"


class SettingUnfit(SetupError):
    """A setting has a value that cannot be used."""

    code = "setting_unfit"
    hint = "see compose/example.env"


_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_REDIS = ("redis", "rediss")


def read(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the environment, or refuse it as SettingUnfit; nothing is created or connected."""
    database_url = _url(environment, "FENCEPOST_DATABASE_URL", _POSTGRES)
    redis_url = _url(environment, "FENCEPOST_REDIS_URL", _REDIS)
    if redis_url and not database_url:
        raise SettingUnfit(
            "FENCEPOST_REDIS_URL is set without FENCEPOST_DATABASE_URL",
            hint="set both for servers of your own, or unset both for the embedded ones",
        )
    return Settings(
        home=home(environment),
        database_url=database_url,
        redis_url=redis_url,
        listen_url=_url(environment, "FENCEPOST_LISTEN_URL", _POSTGRES),
        lease=_seconds(environment.get("FENCEPOST_LEASE")),
        token=environment.get("FENCEPOST_TOKEN") or None,
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


def _url(environment: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str | None:
    """A server's address; what is refused is not repeated, for it may hold a password."""
    given = environment.get(name)
    if not given:
        return None
    usual = f"{schemes[0]}://LOGIN:PASSWORD@HOST:PORT/DATABASE"
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError:
        raise SettingUnfit(
            f"{name} cannot be read as an address: host and port end at the first / ? or #",
            hint=f"write {usual}, special signs in the password as %40, %2F, %3F, %23",
        ) from None
    if parts.scheme not in schemes or not given.startswith(f"{parts.scheme}://"):
        raise SettingUnfit(f"{name} does not begin with {schemes[0]}://", hint=f"write {usual}")
    if port == 0 or (schemes is _REDIS and not _is_database_of_redis(parts.path)):
        raise SettingUnfit(
            f"{name} names a port or a database that cannot be", hint=f"write {usual}"
        )
    return given


def _is_database_of_redis(path: str) -> bool:
    return path in ("", "/") or (path[1:].isascii() and path[1:].isdigit())


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
