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

from app import disk, secrecy
from app.domain.duration import span
from app.domain.errors import BadInput, SetupError


@dataclass(frozen=True, slots=True)
class Address:
    """Where a process listens; port 0: any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


GITHUB = "https://api.github.com"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that is read each time it is needed, so that a file that was replaced counts."""

    name: str
    value: str | None = field(default=None, repr=False)
    file: str | None = None

    def word(self) -> str:
        """Its first line; SecretUnreadable unless that fits a header."""
        found = (self.text().splitlines() or [""])[0].strip()
        if not (found.isascii() and found.isprintable() and " " not in found):
            raise SecretUnreadable(f"{self.name} is not one word of ASCII", hint="write it anew")
        return found

    def text(self) -> str:
        """The secret, or the whole text of its file; SecretUnreadable where that is gone."""
        if self.file is None:
            return secrecy.note(self.name, self.value or "")
        secret({f"{self.name}_FILE": self.file}, self.name)
        return secrecy.note(self.name, Path(self.file).read_text("utf-8").strip())


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process is told from outside; each has a sentence in compose/example.env."""

    home: Path  #: FENCEPOST_HOME
    database_url: str | None  #: FENCEPOST_DATABASE_URL, of this process's own login
    redis_url: str | None  #: FENCEPOST_REDIS_URL
    listen_url: str | None  #: FENCEPOST_LISTEN_URL: a direct one for LISTEN, behind a pooler
    lease: timedelta | None = None  #: FENCEPOST_LEASE; else as each kind says
    grace: timedelta | None = None  #: FENCEPOST_GRACE; else as a worker has it
    metrics: Address | None = None  #: FENCEPOST_METRICS, [HOST:]PORT; else none are served
    token: str | None = field(default=None, repr=False)  #: FENCEPOST_TOKEN: who asks; else `local`
    github_url: str = GITHUB  #: FENCEPOST_GITHUB_URL, of the API
    github_token: Secret | None = None  #: FENCEPOST_GITHUB_TOKEN
    github_app: str | None = None  #: FENCEPOST_GITHUB_APP: the id of an App, in place of a token
    github_app_key: Secret | None = None  #: FENCEPOST_GITHUB_APP_KEY: its private key, PEM
    github_settle: timedelta | None = None  #: FENCEPOST_GITHUB_SETTLE, seconds; else 60
    checks_grace: timedelta | None = None  #: FENCEPOST_CHECKS_GRACE, seconds; else 60
    refs_retention: timedelta | None = None  #: FENCEPOST_REFS_RETENTION; 0: nothing is pruned
    webhook_secret: Secret | None = None  #: FENCEPOST_WEBHOOK_SECRET: what a forge signs with
    least_disk: int = disk.LEAST  #: FENCEPOST_LEAST_DISK, bytes that are free where a worker begins


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

_POSTGRES, _REDIS = ("postgresql", "postgres", "postgresql+psycopg"), ("redis", "rediss")


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
        github_url=_api(environment.get("FENCEPOST_GITHUB_URL") or GITHUB),
        github_token=late(environment, "FENCEPOST_GITHUB_TOKEN"),
        github_app=environment.get("FENCEPOST_GITHUB_APP") or None,
        github_app_key=late(environment, "FENCEPOST_GITHUB_APP_KEY"),
        github_settle=_seconds(environment, "FENCEPOST_GITHUB_SETTLE", 1, 3600),
        checks_grace=_seconds(environment, "FENCEPOST_CHECKS_GRACE", 0, 3600),
        refs_retention=_seconds(environment, "FENCEPOST_REFS_RETENTION", 0, 3650 * 24 * 3600),
        webhook_secret=late(environment, "FENCEPOST_WEBHOOK_SECRET"),
        least_disk=_size(environment, "FENCEPOST_LEAST_DISK", disk.LEAST),
    )


def secret(environment: Mapping[str, str], name: str) -> str | None:
    """A setting, or the first line of the file that NAME_FILE names; SecretUnreadable for both."""
    given, file = environment.get(name), environment.get(f"{name}_FILE")
    if not file:
        return secrecy.note(name, given) if given else None
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
    return secrecy.watch(name, Path(file), lines[0].strip())


def late(environment: Mapping[str, str], name: str) -> Secret | None:
    """A secret that is read again when it is needed; refused now if that could not be."""
    if secret(environment, name) is None:
        return None
    return Secret(name, environment.get(name) or None, environment.get(f"{name}_FILE") or None)


def _api(url: str) -> str:
    """The address of a GitHub's API; a token never travels in the clear, but on this machine."""
    parts = urlsplit(url)
    is_here = parts.hostname in ("127.0.0.1", "localhost", "::1")
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_here)
    if not is_safe or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        usual = "https://api.github.com, or https://HOST/api/v3 of a GitHub Enterprise"
        raise SettingUnfit("FENCEPOST_GITHUB_URL is no address of an API", hint=f"write {usual}")
    return url.rstrip("/")


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
        return span(given, timedelta(seconds=least), timedelta(seconds=most))
    except BadInput as fault:
        raise SettingUnfit(f"{name}: {fault.message}") from None


def _size(environment: Mapping[str, str], name: str, usual: int) -> int:
    given = environment.get(name) or str(usual)
    if (found := disk.size(given)) is None:
        raise SettingUnfit(f"{name} is no size: {given}", hint="write 500M, or 2G")
    return found


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
