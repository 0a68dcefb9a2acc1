"""The migrated database, held against what the code believes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from fixtures.database import Database, maintenance, on_every_server
from sqlalchemy import Engine, inspect

from app.domain.errors import DatabaseUnfit, DatabaseUnreachable
from app.store import footing, migrate, revision, roles
from app.store.engine import open_engine, open_store
from app.store.footing import Login
from app.store.schema import metadata

pytestmark = on_every_server


@pytest.fixture
def owner(common: Database) -> Iterator[Engine]:
    """The owner's engine on a migrated database."""
    engine = open_engine(common.owner_url, name="test-owner")
    yield engine
    engine.dispose()


@pytest.fixture
def superuser(common: Database) -> Iterator[Engine]:
    """An administrator's engine on a migrated database."""
    engine = open_engine(common.superuser_url, name="test-superuser")
    yield engine
    engine.dispose()


def test_schema_of_the_code_is_the_database(owner: Engine) -> None:
    """Every table has exactly these columns, with these types, nullable or not, and these keys."""
    dialect = owner.dialect
    declared = {
        table.name: (
            {c.name: (c.type.compile(dialect), c.nullable) for c in table.columns},
            {c.name for c in table.primary_key},
            {c.name for c in table.columns if c.identity is not None},
        )
        for table in metadata.tables.values()
    }
    found = inspect(owner)
    migrated = {
        name: (
            {c["name"]: (c["type"].compile(dialect), c["nullable"]) for c in columns},
            set(found.get_pk_constraint(name, "fencepost")["constrained_columns"]),
            {c["name"] for c in columns if c.get("identity")},
        )
        for name in found.get_table_names("fencepost")
        if name != "alembic_version"
        for columns in [found.get_columns(name, "fencepost")]
    }

    assert declared == migrated


def test_schema_checks_have_names_that_say_their_table(owner: Engine) -> None:
    """A refusal names its rule: no constraint has the name that Postgres made up for it."""
    with owner.connect() as tx:
        found = tx.exec_driver_sql(
            "select conrelid::regclass::text, conname, contype::text from pg_constraint"
            " where connamespace = 'fencepost'::regnamespace"
            " and contype in ('c', 'u', 'f', 'x') order by 1, 2"
        ).all()
    made_up = [
        name
        for _, name, kind in found
        if name.endswith({"c": "_check", "u": "_key", "f": "_fkey", "x": "_excl"}[kind])
    ]

    assert found
    assert made_up == []


@pytest.mark.contract("L5")
def test_schema_holds_every_digest_to_its_bytes(owner: Engine) -> None:
    """A digest is its bytes' SHA-256 by a CHECK, or refers to a row in which it is."""
    with owner.connect() as tx:
        held = set(
            tx.exec_driver_sql(
                "select c.conrelid::regclass::text || '.' || a.attname from pg_constraint c"
                " join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)"
                " where c.connamespace = 'fencepost'::regnamespace"
                " and (c.contype = 'f' or pg_get_constraintdef(c.oid) like '%%sha256(%%')"
            ).scalars()
        )
    digests = {
        f"fencepost.{table.name}.{column.name}"
        for table in metadata.tables.values()
        for column in table.columns
        if column.name.endswith("digest")
    }
    copies = {
        "fencepost.worlds.receipt_digest",  # of the newest receipt
        "fencepost.work_orders.approved_digest",  # equal to `digest` once approved, by a CHECK
        "fencepost.settlements.marker_digest",  # of a fact of the receipt
        "fencepost.idempotency_keys.request_digest",  # of a request that is kept by nobody
    }

    assert digests - held == copies


@pytest.mark.contract("L2")
def test_schema_has_the_fence_before_every_table_that_workers_write(owner: Engine) -> None:
    """Where the worker's login may insert there is the trigger, and it fires first."""
    with owner.connect() as tx:
        writable = tx.exec_driver_sql(
            "select table_name::text from information_schema.role_table_grants"
            " where grantee = 'fencepost_worker' and privilege_type <> 'SELECT'"
        ).scalars()
        first = tx.exec_driver_sql(
            "select min(tgname) from pg_trigger t where not tgisinternal and tgtype & 7 = 7"
            " and has_table_privilege('fencepost_worker', tgrelid, 'insert') group by tgrelid"
        ).scalars()
        fenced = tx.exec_driver_sql(
            "select c.relname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid"
            " where t.tgname = 'a_fence' and t.tgenabled in ('O', 'A')"
        ).scalars()

    assert sorted(writable) == sorted(fenced)
    assert set(first) == {"a_fence"}


@pytest.mark.contract("S02")
def test_schema_functions_belong_to_a_role_without_login(owner: Engine) -> None:
    """Each has its own search path, and none can be called by just anybody."""
    with owner.connect() as tx:
        found = tx.exec_driver_sql(
            "select p.proname, r.rolcanlogin, p.proconfig,"
            " has_function_privilege('public', p.oid, 'execute') from pg_proc p"
            " join pg_roles r on r.oid = p.proowner"
            " where p.pronamespace = 'fencepost'::regnamespace"
        ).all()

    assert found
    for name, can_login, settings, public in found:
        assert (name, can_login, public) == (name, False, False)
        assert settings == ["search_path=pg_catalog, pg_temp"], name


def test_schema_upgrade_twice_is_harmless(owner: Engine) -> None:
    """The second upgrade finds nothing to do and leaves the revision as it is."""
    assert migrate.upgrade(owner) == revision.head()
    assert migrate.upgrade(owner) == revision.head()

    with owner.connect() as tx:
        assert revision.current(tx) == revision.head()


def test_schema_upgrades_at_once_are_safe(new_database: Callable[[], Database]) -> None:
    """Two processes that upgrade a new database at once both find it ready."""
    database = new_database()
    engines = [open_engine(database.owner_url, name=f"test-{n}") for n in range(2)]

    with ThreadPoolExecutor(2) as pool:
        reached = list(pool.map(migrate.upgrade, engines))

    assert reached == [revision.head()] * 2
    for engine in engines:
        engine.dispose()


def test_schema_upgrades_of_two_databases_at_once_are_safe(
    server: Database, superuser: Engine
) -> None:
    """Roles belong to the server: the first upgrades of two of its databases both succeed."""
    ours = (roles.DEFINER, *roles.LESSER)
    names = ["first_database", "second_database"]
    engines = [open_engine(server.called(n).owner_url, name="test-owner") for n in names]
    with superuser.begin() as tx:
        put_roles_aside(tx.exec_driver_sql)
    with maintenance(server) as session:
        for name in names:
            session.execute(f"create database {name} owner fencepost_owner")
    try:
        with ThreadPoolExecutor(2) as pool:
            reached = list(pool.map(migrate.upgrade, engines))
    finally:
        with maintenance(server) as session:
            for engine, name in zip(engines, names, strict=True):
                engine.dispose()
                session.execute(f"drop database {name} with (force)")
            for role in ours:
                session.execute(f"drop role if exists {role}")
                session.execute(f"alter role {role}_aside rename to {role}")

    assert reached == [revision.head()] * 2


@pytest.mark.contract("S02")
def test_schema_lets_nobody_else_connect(new_database: Callable[[], Database]) -> None:
    """After the upgrade only our logins may connect, and none may make temporary tables."""
    database = new_database()
    engine = open_engine(database.owner_url, name="test-owner")
    migrate.upgrade(engine)

    with engine.connect() as tx:
        rights = tx.exec_driver_sql(
            "select coalesce(r.rolname, 'public'), x.privilege_type from pg_database d,"
            " aclexplode(d.datacl) x left join pg_roles r on r.oid = x.grantee"
            " where d.datname = current_database() and x.grantee <> d.datdba order by 1, 2"
        ).all()
    engine.dispose()

    assert [tuple(row) for row in rights] == [
        ("fencepost_app", "CONNECT"),
        ("fencepost_worker", "CONNECT"),
    ]


def test_schema_roles_can_be_made_by_an_administrator(superuser: Engine) -> None:
    """The SQL for those who may not create roles runs as it is printed, and nothing is missing."""
    with superuser.connect() as tx:
        put_roles_aside(tx.exec_driver_sql)
        assert roles.missing(tx) == ["fencepost_app", "fencepost_fence", "fencepost_worker"]

        database = tx.exec_driver_sql("select current_database()").scalar_one()
        for statement in roles.sql_for("fencepost_owner", database).splitlines():
            tx.exec_driver_sql(statement)

        assert roles.missing(tx) == []
        tx.rollback()


def test_schema_roles_can_be_made_by_the_owner(superuser: Engine) -> None:
    """An owner that may create roles makes those that are missing, and may act as the definer."""
    with superuser.connect() as tx:
        put_roles_aside(tx.exec_driver_sql)
        tx.exec_driver_sql("set local role fencepost_owner")

        roles.create_missing(tx)

        assert roles.missing(tx) == []
        tx.exec_driver_sql("set local role fencepost_fence")
        tx.rollback()


def test_schema_upgrade_without_roles_says_what_to_run(
    superuser: Engine, new_database: Callable[[], Database]
) -> None:
    """An owner that may not create the missing roles is told which command prints their SQL."""
    database = new_database()
    engine = open_engine(database.owner_url, name="test-owner")
    with superuser.begin() as tx:
        tx.exec_driver_sql("alter role fencepost_owner nocreaterole")
        tx.exec_driver_sql("alter role fencepost_app rename to fencepost_aside")
    try:
        with pytest.raises(DatabaseUnfit) as refusal:
            migrate.upgrade(engine)
    finally:
        with superuser.begin() as tx:
            tx.exec_driver_sql("alter role fencepost_aside rename to fencepost_app")
            tx.exec_driver_sql("alter role fencepost_owner createrole")
        engine.dispose()

    assert "fencepost_app" in refusal.value.message
    assert "database roles" in refusal.value.advice


def test_schema_upgrade_by_another_login_is_refused(new_database: Callable[[], Database]) -> None:
    """A login that does not own the database is told so in the domain's words."""
    engine = open_engine(new_database().app_url, name="test-app")

    with pytest.raises(DatabaseUnfit):
        migrate.upgrade(engine)
    engine.dispose()


def test_schema_upgrade_of_nothing_is_unreachable(common: Database) -> None:
    """A server that does not answer is told apart from one that refuses."""
    engine = open_engine(common.owner_url.replace("host=", "host=/nowhere"), name="test-owner")

    with pytest.raises(DatabaseUnreachable):
        migrate.upgrade(engine)


@pytest.mark.contract("Q15")
@pytest.mark.parametrize("login", [Login.APP, Login.WORKER])
@pytest.mark.parametrize("given", ["owner", "app", "worker", "superuser"])
def test_footing_takes_its_own_login_only(login: Login, given: str, common: Database) -> None:
    """A process refuses to work under another login than the one meant for its part."""
    url = getattr(common, f"{given}_url")
    with closing(open_store(url, name="test")) as store:
        if login == f"fencepost_{given}":
            footing.check(store, login)
        else:
            with pytest.raises(DatabaseUnfit, match="login"):
                footing.check(store, login)


@pytest.mark.contract("Q15")
def test_footing_refuses_a_database_without_schema(new_database: Callable[[], Database]) -> None:
    """An empty database is told apart from a migrated one, with the command that mends it."""
    with (
        closing(open_store(new_database().owner_url, name="test")) as store,
        pytest.raises(DatabaseUnfit, match="schema") as refusal,
    ):
        footing.check(store, Login.OWNER)

    assert "database upgrade" in refusal.value.advice


@pytest.mark.contract("Q15")
def test_footing_refuses_another_revision(database: Database) -> None:
    """A schema of another release is not worked with."""
    with database.as_owner() as owner:
        owner.execute("update fencepost.alembic_version set version_num = '9999'")

    with (
        closing(open_store(database.worker_url, name="test")) as store,
        pytest.raises(DatabaseUnfit, match="9999"),
    ):
        footing.check(store, Login.WORKER)


@pytest.mark.contract("Q15")
def test_footing_refuses_a_session_without_timeouts(common: Database) -> None:
    """A session that does not keep its timeouts could hold a successor off for ever."""
    with closing(open_store(common.worker_url, name="test")) as store:
        with store.engine.connect() as kept:
            kept.exec_driver_sql("set idle_in_transaction_session_timeout = 0")
            kept.commit()
        with pytest.raises(DatabaseUnfit, match="timeouts"):
            footing.check(store, Login.WORKER)


def test_footing_says_that_nobody_answers(common: Database) -> None:
    """A database that is not there is unreachable, and the password is not shown."""
    url = common.worker_url.replace("host=", "host=/nowhere")
    with (
        closing(open_store(url, name="test")) as store,
        pytest.raises(DatabaseUnreachable) as refusal,
    ):
        footing.check(store, Login.WORKER)

    password = common.worker_url.split(":")[2].split("@")[0]
    assert password not in refusal.value.message


def put_roles_aside(run: Callable[[str], object]) -> None:
    """Let the cluster lack our roles for the length of a transaction."""
    for name in (roles.DEFINER, *roles.LESSER):
        run(f"alter role {name} rename to {name}_aside")
