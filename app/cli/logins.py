"""The URLs that each role gets: of its own login, and of Redis."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from app import config
from app.config import Settings
from app.domain.errors import DatabaseUnfit, DatabaseUnreachable
from app.embedded import folder
from app.embedded.password import fresh
from app.embedded.servers import Addresses
from app.store import footing, migrate, roles
from app.store.engine import Store, open_engine, open_store

APP, WORKER = roles.LESSER


@dataclass(frozen=True, slots=True)
class Logins:
    """Where the servers answer to whom; URLs may carry passwords, so none is part of a repr."""

    app_url: str = field(repr=False)
    worker_url: str | None = field(repr=False)
    redis_url: str | None = field(repr=False)
    listen_url: str | None = field(repr=False, default=None)


def of_embedded(addresses: Addresses) -> Logins:
    """The logins of the embedded servers, their database brought up to date."""
    upgrade(addresses.owner_url)
    return Logins(addresses.app_url, addresses.worker_url, addresses.redis_url)


def of_owner(settings: Settings) -> Logins:
    """Given an owner's URL: bring the database up to date and make the two lesser logins.

    Their passwords are kept in a file of the home. A login that is no owner is DatabaseUnfit.
    """
    owner = config.required(settings.database_url, "FENCEPOST_DATABASE_URL")
    config.required(settings.redis_url, "FENCEPOST_REDIS_URL")
    upgrade(owner)
    if (kept := read(settings.home)) and _work(kept, owner):
        # The logins stay; where Redis is, and how to listen, may be said anew.
        password = unquote(urlsplit(kept.app_url).password or "")
        return _keep(settings, kept.app_url, kept.worker_url, password)
    made = {name: fresh() for name in roles.LESSER}
    owning = Store(open_engine(owner, name="fencepost-owner", timeouts=False))
    try:
        with owning.begin() as tx:
            for name, password in made.items():
                roles.set_password(tx, name, password)
    finally:
        owning.close()
    app, worker = (with_login(owner, name, made[name]) for name in roles.LESSER)
    return _keep(settings, app, worker, made[APP])


def read(home: Path) -> Logins | None:
    """The logins that the last `up` with an owner's URL made."""
    try:
        return Logins(**json.loads(_file(home).read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def upgrade(owner_url: str) -> str:
    """Bring a database up to date and return its revision; what the server refuses is explained."""
    owning = Store(open_engine(owner_url, name="fencepost-owner", timeouts=False))
    try:
        with owning.begin():  # so that whatever the server says inside becomes a domain error
            return migrate.upgrade(owning.engine)
    finally:
        owning.close()


def with_login(url: str, name: str, password: str) -> str:
    """The same database by another login."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{quote(name)}:{quote(password, safe='')}@{place}").geturl()


def _keep(settings: Settings, app: str, worker: str | None, password: str) -> Logins:
    listen = with_login(settings.listen_url, APP, password) if settings.listen_url else None
    new = Logins(app, worker, settings.redis_url, listen)
    folder.write(_file(settings.home), json.dumps(asdict(new)) + "\n")
    return new


def _work(kept: Logins, owner_url: str) -> bool:
    """Whether the kept logins are of the same database and still let us in."""
    place = urlsplit(owner_url)
    if urlsplit(kept.app_url)._replace(netloc="") != place._replace(netloc=""):
        return False
    if urlsplit(kept.app_url).netloc.rpartition("@")[2] != place.netloc.rpartition("@")[2]:
        return False
    for url, login in ((kept.app_url, footing.Login.APP), (kept.worker_url, footing.Login.WORKER)):
        store = open_store(url or "", name="fencepost-cli", connections=1)
        try:
            footing.check(store, login)
        except (DatabaseUnreachable, DatabaseUnfit):
            return False
        finally:
            store.close()
    return True


def _file(home: Path) -> Path:
    return home / "logins.json"
