"""Settings, read once at a process edge and passed down as arguments.

What holds a password may be in a file instead, which NAME_FILE names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from app.domain.errors import SetupError


@dataclass(frozen=True, slots=True)
class Address:
    """Where a process listens; port 0: any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process is told from outside; each has a sentence in compose/example.env."""

    home: Path  #: FENCEPOST_HOME
    database_url: str | None  #: FENCEPOST_DATABASE_URL, of this process's own login
    redis_url: str | None  #: FENCEPOST_REDIS_URL
    listen_url: str | None  #: FENCEPOST_LISTEN_URL: a direct one for LISTEN, behind a pooler
    lease: timedelta | None = None  #: FENCEPOST_LEASE, seconds; else as each kind says
    grace: timedelta | None = None  #: FENCEPOST_GRACE, seconds; else as a worker has it
    metrics: Address | None = None  #: FENCEPOST_METRICS, [HOST:]PORT; else none are served
    token: str | None = field(default=None, repr=False)  #: FENCEPOST_TOKEN: who asks; else `local`


class SettingMissing(SetupError):
    """A process needs a setting that it was not given."""

    code = "setting_missing"


class SettingUnfit(SetupError):
    """A setting has a value that cannot be used."""

    code = "setting_unfit"
    hint = "see compose/example.env"


class SecretUnreadable(SettingUnfit):
    """The file that holds a setting cannot be read, or the setting is given twice."""

    code = "secret_unreadable"


#: What holds a password: each may also be in a file that NAME_FILE names, as secrets are mounted.
SECRETS = (
    "FENCEPOST_DATABASE_URL", "FENCEPOST_REDIS_URL", "FENCEPOST_LISTEN_URL", "FENCEPOST_TOKEN",
)  # fmt: skip

_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_REDIS = ("redis", "rediss")


def read(environment: Mapping[str, str] = os.environ, *, redis_alone: bool = False) -> Settings:
    """Read the environment, or refuse it as SettingUnfit; nothing is created or connected.

    `redis_alone`: for who looks at Redis and at nothing else.
    """
    database_url = _url(environment, "FENCEPOST_DATABASE_URL", _POSTGRES)
    redis_url = _url(environment, "FENCEPOST_REDIS_URL", _REDIS)
    if redis_url and not database_url and not redis_alone:
        raise SettingUnfit(
            "FENCEPOST_REDIS_URL is set without FENCEPOST_DATABASE_URL",
            hint="set both for servers of your own, or unset both for the embedded ones",
        )
    return Settings(
        home=home(environment),
        database_url=database_url,
        redis_url=redis_url,
        listen_url=_url(environment, "FENCEPOST_LISTEN_URL", _POSTGRES),
        lease=_seconds(environment, "FENCEPOST_LEASE", 3, 3600),
        grace=_seconds(environment, "FENCEPOST_GRACE", 0, 7 * 24 * 3600),
        metrics=_address(environment.get("FENCEPOST_METRICS")),
        token=secret(environment, "FENCEPOST_TOKEN"),
    )


def secret(environment: Mapping[str, str], name: str) -> str | None:
    """A setting, or the first line of the file that NAME_FILE names; SecretUnreadable for both."""
    given, file = environment.get(name), environment.get(f"{name}_FILE")
    if not file:
        return given or None
    if given:
        raise SecretUnreadable(f"{name} and {name}_FILE are both set", hint="unset one of them")
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as fault:
        why = getattr(fault, "strerror", None) or "not text"
        raise SecretUnreadable(
            f"{name}_FILE cannot be read: {file}: {why}",
            hint="name a file that this user may read; its first line is the setting",
        ) from fault
    if not lines or not lines[0].strip():
        raise SecretUnreadable(f"{name}_FILE is empty: {file}", hint="write it into its first line")
    return lines[0].strip()


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
    given = secret(environment, name)
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


def _seconds(environment: Mapping[str, str], name: str, least: int, most: int) -> timedelta | None:
    given = environment.get(name)
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        raise SettingUnfit(f"{name} is not a number of seconds: {given}") from None
    if not least <= seconds <= most:
        raise SettingUnfit(f"{name} is not between {least} and {most} seconds: {given}")
    return timedelta(seconds=seconds)


def _address(given: str | None) -> Address | None:
    """Where metrics are served: on this machine alone, unless a host is named."""
    if not given:
        return None
    host, _, port = given.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise SettingUnfit(f"FENCEPOST_METRICS names no port: {given}", hint="write HOST:PORT")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise SettingUnfit(f"FENCEPOST_METRICS: {given}", hint="write IPv6 as [ADDRESS]:PORT")
    return Address(host.strip("[]") or "127.0.0.1", int(port))


def required(value: str | None, name: str) -> str:
    """A setting that must be there, or SettingMissing."""
    if value is None:
        raise SettingMissing(f"{name} is not set", hint=f"set {name}; see compose/example.env")
    return value
