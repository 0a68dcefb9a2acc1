"""The stack that a command works on: an `up` that runs, named servers, or the embedded ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app import agents, caches, config, isolation
from app.broker.redis import Broker
from app.cli import logins, record, tenancy
from app.cli.logins import Logins
from app.cli.parent import Role
from app.config import Address, Settings
from app.domain.errors import NotFound, SetupError
from app.embedded import servers
from app.kinds import registry
from app.store import footing
from app.store.engine import Store, open_store


class LoginsLost(SetupError):
    """The file with the logins of a running stack is gone; `fencepost down`, then `up` again."""

    code = "logins_lost"


@contextmanager
def joined(settings: Settings) -> Iterator[Logins]:
    """The logins of what is there; embedded servers that rest are started, and stopped again."""
    up = record.find_up(settings.home)
    if up is None and settings.database_url:
        yield Logins(
            settings.database_url, settings.database_url, settings.redis_url, settings.listen_url
        )
    elif up is not None and not up.embedded:
        yield of_up(settings.home)
    elif up is not None or (settings.home / "embedded" / "passwords.json").exists():
        with tenancy.embedded(settings.home) as addresses:
            yield Logins(addresses.app_url, addresses.worker_url, addresses.redis_url)
    else:
        raise NotFound(
            f"nothing has run in {settings.home} yet",
            hint="`fencepost run -- COMMAND` in a git repository, or set FENCEPOST_DATABASE_URL",
        )


@contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    """The database of what is there, checked, by the login of the control plane."""
    with joined(settings) as found, store_of(found) as store:
        yield store


@contextmanager
def store_of(found: Logins) -> Iterator[Store]:
    """The database by the login of the control plane, checked to be that."""
    store = open_store(found.app_url, name="fencepost-cli", connections=2)
    try:
        footing.check(store, footing.Login.APP)
        yield store
    finally:
        store.close()


@contextmanager
def provided(settings: Settings) -> Iterator[Logins]:
    """The servers for a stack of one's own: those that one owns, else the embedded ones."""
    registry.check(settings.lease)  # here, before a role refuses it again and again
    agents.read()
    isolation.read()
    caches.read()
    if settings.database_url:
        check_redis(settings.redis_url)
        yield logins.of_owner(settings)
        return
    with tenancy.embedded(settings.home) as addresses:
        yield logins.of_embedded(addresses)


def check_redis(url: str | None) -> None:
    """Refuse before anything is begun, where messages could not be sent safely."""
    broker = Broker(config.required(url, "FENCEPOST_REDIS_URL"), role="cli")
    try:
        broker.check()
    finally:
        broker.close()


def of_up(home: Path) -> Logins:
    """The logins of an `up` that was given its servers."""
    found = logins.read(home)
    if found is None:
        raise LoginsLost(f"{home} has no readable logins.json", hint="`fencepost down`, then `up`")
    return found


def running(settings: Settings) -> Logins | None:
    """The logins of the stack that runs in FENCEPOST_HOME, for one more role beside it."""
    up = record.find_up(settings.home)
    if up is not None and not up.embedded:
        return of_up(settings.home)
    one = servers.running(settings.home)
    return None if one is None else Logins(one.app_url, one.worker_url, one.redis_url)


def urls(database: str | None, redis: str | None) -> dict[str, str]:
    """What a role is told of its servers."""
    told = {"FENCEPOST_DATABASE_URL": database, "FENCEPOST_REDIS_URL": redis}
    return {name: url for name, url in told.items() if url}


def roles_of(settings: Settings, found: Logins, slots: int) -> list[Role]:
    """The processes of a stack, each with the URL of its own login and no other."""
    common = {
        "FENCEPOST_METRICS": _nth(settings.metrics, 0),
        "FENCEPOST_HOME": str(settings.home),
        "FENCEPOST_REDIS_URL": found.redis_url or "",
        "FENCEPOST_LISTEN_URL": "",
    }
    control = {
        **common,
        "FENCEPOST_DATABASE_URL": found.app_url,
        "FENCEPOST_LISTEN_URL": found.listen_url or "",
        **dict.fromkeys(agents.NAMES, ""),  # a model's key is the worker's alone
    }
    worker = {
        **common,
        "FENCEPOST_DATABASE_URL": found.worker_url or "",
        "FENCEPOST_METRICS": _nth(settings.metrics, 1),
        "FENCEPOST_GRACE": "604800",  # the parent has its own, and says a second time when it ends
    }
    return [
        Role("dispatcher", ("-m", "app.dispatcher"), control),
        Role("worker", ("-m", "workers", "--slots", str(slots)), worker),
    ]


def _nth(first: Address | None, number: int) -> str:
    """The address of the n-th process of this machine: the ports follow one another."""
    if first is None or first.port == 0:
        return str(first or "")
    return str(Address(first.host, first.port + number))
