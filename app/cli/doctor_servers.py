"""What `fencepost doctor` asks database and Redis: version, schema, logins, clock, policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

from app import config
from app.broker.redis import Broker
from app.cli import logins, record, stack
from app.cli.doctor_check import Check, Verdict, fault, of_error, ok, warning
from app.cli.logins import Logins
from app.config import Settings
from app.domain.errors import DatabaseUnfit, DatabaseUnreachable
from app.embedded import servers
from app.store import footing, revision, roles
from app.store.engine import Store, open_store
from app.store.footing import Login
from app.store.views.server import ServerSeen, server_seen


def database(settings: Settings) -> Iterator[Check]:
    """Reachable, new enough, of this code's revision, and each login fit for its part."""
    found = _there(settings)
    if found is None:
        return
    with closing(open_store(found.app_url, name="fencepost-doctor", connections=1)) as store:
        before = datetime.now(UTC)
        with store.begin() as tx:
            seen = server_seen(tx)
        half = (datetime.now(UTC) - before) / 2
        if not seen.is_supported:
            yield fault("database", "database_too_old", f"Postgres {seen.version}",
                        "use Postgres 15 or newer")  # fmt: skip
            return
        yield ok("database", f"Postgres {seen.version} answers {seen.login}")
        ahead = (seen.at - before - half).total_seconds()
        yield ok("clock", f"the database's is {ahead:+.3f} s off this host's; only its own counts")
        yield (schema := _schema(seen))
        if seen.part is Login.OWNER:
            yield from _roles(store)
            kept = logins.read(settings.home)
            pairs = [(Login.APP, kept.app_url), (Login.WORKER, kept.worker_url)] if kept else []
        elif seen.part is None:
            yield fault("login", "database_unfit", f"{seen.login} may do nothing here",
                        "give the URL of the owner, fencepost_app or fencepost_worker")  # fmt: skip
            return
        else:
            worker = found.worker_url if found.worker_url != found.app_url else None
            pairs = [(seen.part, found.app_url), (Login.WORKER, worker)]
    for login, url in pairs:
        if schema.verdict is Verdict.OK and url:
            yield _fitness(login, url)


def redis(settings: Settings) -> Iterator[Check]:
    """Reachable, new enough, evicting nothing; what it keeps on disk is information."""
    found = _there(settings)
    if found is None:
        return
    url = config.required(found.redis_url, "FENCEPOST_REDIS_URL")
    with closing(Broker(url, role="doctor")) as broker:
        broker.check()
        seen = broker.seen()
    keeps = "appends every write" if seen.appends else "may forget at a restart, which is allowed"
    yield ok("redis", f"{seen.version} answers, {seen.policy}, {keeps}")
    if not seen.is_writing:
        yield warning("redis", "redis_cannot_save", "its last write to disk failed",
                      "make room on its disk, or turn its persistence off")  # fmt: skip
    if seen.limit and seen.used > 0.9 * seen.limit:
        yield warning("redis", "redis_nearly_full", f"{seen.used} of {seen.limit} bytes used",
                      "raise its maxmemory; see the depths in `fencepost status`")  # fmt: skip


def _there(settings: Settings) -> Logins | None:
    """The logins of what answers now; None where embedded servers rest, and they are left so."""
    if settings.database_url:
        return Logins(
            settings.database_url, settings.database_url, settings.redis_url, settings.listen_url
        )
    up = record.find_up(settings.home)
    if up is not None and not up.embedded:
        return stack.of_up(settings.home)
    running = servers.running(settings.home)
    return Logins(running.app_url, running.worker_url, running.redis_url) if running else None


def _schema(seen: ServerSeen) -> Check:
    says = f"the schema is at {seen.revision or 'nothing'}, this program expects {revision.head()}"
    if seen.revision == revision.head():
        return ok("schema", f"at {seen.revision}, as expected")
    if revision.is_newer(seen.revision):
        then = "install the Fencepost that brought it there"
        return fault("schema", "schema_newer", says, then)
    if seen.part is Login.OWNER:
        then = "fencepost database upgrade, or fencepost up"
        return warning("schema", "schema_older", says, then)
    then = "fencepost database upgrade, with the owner's URL"
    return fault("schema", "schema_older", says, then)


def _roles(store: Store) -> Iterator[Check]:
    with store.begin() as tx:
        missing, may_create = roles.missing(tx), roles.may_create(tx)
    if missing and not may_create:
        yield fault("login", "roles_missing", f"{', '.join(missing)}, and we may not make them",
                    "fencepost database roles, for an administrator")  # fmt: skip
    else:
        yield ok("login", "the owner's; `fencepost up` makes the two lesser ones from it")


def _fitness(login: Login, url: str) -> Check:
    with closing(open_store(url, name="fencepost-doctor", connections=1)) as store:
        try:
            footing.check(store, login)
        except (DatabaseUnfit, DatabaseUnreachable) as error:
            return of_error("login", error)
    return ok("login", f"{login} may do what its part needs, and no more")
