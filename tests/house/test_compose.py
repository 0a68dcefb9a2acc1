"""compose/: what Docker makes of it, and the same commands and SQL for real, without Docker."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
import redis
from fixtures import role
from fixtures.database import Database, start_server
from fixtures.role import Role
from fixtures.stack import a_repository
from fixtures.waiting import until

from app.config import SECRETS, Settings
from app.embedded import account, binary, place, process, valkey
from app.store import roles
from workers.draining import GRACE

COMPOSE = Path(__file__).parents[2] / "compose"
DOCKER = Path(sys.executable).with_name("docker-compose")
HANDING_BACK = timedelta(seconds=3)  #: after the grace
#: Which secrets a service may read; nobody has more than its own login.
SECRETS_OF = {
    "postgres": {"postgres_password", "owner_url", "app_url", "worker_url"},
    "redis": {"redis_url"},
    "upgrade": {"owner_url"},
    "dispatcher": {"app_url", "redis_url"},
    "worker": {"worker_url", "redis_url"},
    "flower": {"redis_url", "flower_login"},
    "fencepost": {"app_url", "redis_url"},
}

Services = Mapping[str, Any]


@pytest.fixture(scope="module")
def services() -> Services:
    """Every service as Docker Compose itself reads the file; it refuses what it does not know."""
    found: Services = composed("compose.yaml")["services"]
    return found


def composed(*names: str, **settings: str) -> Mapping[str, Any]:
    """What Docker Compose makes of these files together."""
    files = [word for name in names for word in ("--file", str(COMPOSE / name))]
    words = [DOCKER, *files, "--profile", "tools", "config", "--format", "json"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], **settings},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def test_docker_compose_takes_the_file(services: Services) -> None:
    """It is a compose file by the specification, and has these services."""
    assert set(services) == set(SECRETS_OF)
    assert services["dispatcher"]["deploy"]["replicas"] == 2


@pytest.mark.contract("S02")
def test_each_service_reads_the_secrets_of_its_own_login(services: Services) -> None:
    """No password is in the file, and no service can read another one's."""
    for name, service in services.items():
        granted = {secret["source"] for secret in service.get("secrets", [])}
        told = service.get("environment", {})

        assert granted == SECRETS_OF[name], name
        assert not set(told) & {*SECRETS, "FLOWER_BASIC_AUTH", "POSTGRES_PASSWORD"}, name
        files = {told[key] for key in told if key.endswith("_FILE")}
        assert files <= {f"/run/secrets/{secret}" for secret in granted}, name


def test_every_setting_of_a_service_exists(services: Services) -> None:
    """A name that no process reads would be a wish that nobody hears."""
    known = {f"FENCEPOST_{name.upper()}" for name in Settings.__slots__}
    told = {key for service in services.values() for key in service.get("environment", {})}

    own = {key.removesuffix("_FILE") for key in told if key.startswith("FENCEPOST_")}
    assert own <= known
    stated = (COMPOSE / "example.env").read_text("utf-8")
    assert {name for name in known if f"\n{name}=" not in stated} == set()


def test_workers_can_be_scaled_and_have_time_to_drain(services: Services) -> None:
    """Nothing names or publishes the one worker, and Docker waits for longer than its grace."""
    worker = services["worker"]
    stop = timedelta(seconds=int(re.sub(r"(\d+)m(\d+)s", _seconds, worker["stop_grace_period"])))

    assert {"container_name", "ports", "hostname"} & set(worker) == set()
    grace = timedelta(seconds=int(worker["environment"]["FENCEPOST_GRACE"]))
    assert grace + HANDING_BACK < stop
    docker_waits = timedelta(seconds=10)  # where nobody says for how long
    assert docker_waits > GRACE + HANDING_BACK


def _seconds(found: re.Match[str]) -> str:
    return str(int(found[1]) * 60 + int(found[2]))


def test_the_number_of_workers_is_kept(services: Services) -> None:
    """It stands in compose/.env, so another `up` does not forget it; one, if nothing is said."""
    said = composed("compose.yaml", FENCEPOST_WORKERS="4")["services"]["worker"]

    assert (services["worker"]["deploy"]["replicas"], said["deploy"]["replicas"]) == (1, 4)
    assert ".env" in (COMPOSE / ".gitignore").read_text("utf-8").split()


@pytest.mark.parametrize("own", [("postgres",), ("redis",), ("postgres", "redis")], ids=str)
def test_servers_of_ones_own_leave_out_only_theirs(own: tuple[str, ...]) -> None:
    """With one file more the service is gone, whoever waited for it waits for the others."""
    usual = composed("compose.yaml")["services"]
    found = composed("compose.yaml", *(f"own-{name}.yaml" for name in own))

    assert set(found["services"]) == set(usual) - set(own)
    assert set(found["volumes"]) == {"home", "postgres", "redis"} - set(own)
    for name, service in found["services"].items():
        waits = set(usual[name].get("depends_on", {})) - set(own)
        assert set(service.get("depends_on", {})) == waits, name
        assert {s["source"] for s in service["secrets"]} == SECRETS_OF[name], name


def test_whatever_stays_up_tells_how_it_is(services: Services) -> None:
    """Every service that does not end has a health check, and waits for what it stands on."""
    for name, service in services.items():
        if name not in ("upgrade", "fencepost"):
            assert "healthcheck" in service, name
    for name in ("dispatcher", "worker", "fencepost"):
        waits = {one: how["condition"] for one, how in services[name]["depends_on"].items()}
        assert waits == {
            "postgres": "service_healthy", "redis": "service_healthy",
            "upgrade": "service_completed_successfully",
        }  # fmt: skip


def test_images_are_pinned_and_ours_runs_as_nobody_special(services: Services) -> None:
    """A tag names a version, and agents are not root in their container."""
    bases = re.findall(r"^FROM (\S+)", (COMPOSE / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    images = {service["image"] for service in services.values()} - {"fencepost:local"}

    for image in [*bases, *images]:
        assert re.fullmatch(r"[a-z]+:\d+\.\d+(\.\d+)?(-[a-z-]+)?", image), image
    assert re.search(r"^USER [1-9]\d*$", (COMPOSE / "Dockerfile").read_text("utf-8"), re.MULTILINE)


def test_the_secrets_are_made_once(tmp_path: Path) -> None:
    """Each is another, the folder is closed to others, and what is in use is never replaced."""
    folder = secrets_in(tmp_path / "secrets")
    made = {file.name: file.read_text() for file in folder.iterdir()}

    again = subprocess.run(
        [COMPOSE / "make-secrets", folder], capture_output=True, text=True, check=False
    )
    refused = subprocess.run(
        [COMPOSE / "make-secrets", tmp_path / "not" / "there"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert set(made) == {secret for known in SECRETS_OF.values() for secret in known}
    assert len(set(re.findall(r"[0-9a-f]{48}", "".join(made.values())))) == len(made)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == f"{folder}: nothing made, {len(made)} kept as they were\n"
    assert (refused.returncode, refused.stderr.startswith("error: ")) == (2, True)
    assert {file.name: file.read_text() for file in folder.iterdir()} == made


@dataclass(frozen=True, slots=True)
class Fleet:
    """The servers as compose sets them up, and the secrets that lead to them."""

    folder: Path
    secrets: Path
    services: Services
    roles: list[Role]

    def environment(self, service: str) -> dict[str, str]:
        """What a service is told, its paths and ports as they are here."""
        told = dict(self.services[service].get("environment", {}))
        if "FENCEPOST_METRICS" in told:
            told["FENCEPOST_METRICS"] = "127.0.0.1:0"
        home = {"FENCEPOST_HOME": str(self.folder / "home"), "PATH": os.environ["PATH"]}
        return home | {
            key: value.replace("/run/secrets", str(self.secrets)) for key, value in told.items()
        }

    def start(self, service: str) -> Role:
        """The command of a service as a process."""
        words = ("app.cli", *self.services[service]["command"])
        one = role.start(
            words, environment=self.environment(service), directory=self.folder,
            logs=self.folder / "logs",
        )  # fmt: skip
        self.roles.append(one)
        return one

    def run(self, service: str, *words: str, at: Path) -> subprocess.CompletedProcess[str]:
        """A command with what a service is told."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "app.cli", *words], cwd=at, text=True, timeout=90,
            env=self.environment(service), capture_output=True, check=False,
        )  # fmt: skip


@pytest.fixture
def fleet(tmp_path: Path, services: Services) -> Iterator[Fleet]:
    """Postgres after logins.sql and Redis by redis.sh, as their images would run them."""
    with ExitStack() as ends:
        # the server's user must be able to read the secrets, as in its container
        mine = Path(ends.enter_context(TemporaryDirectory(prefix="fencepost-pg-", dir="/tmp")))
        secrets, home = secrets_in(mine / "secrets"), mine / "home"
        for folder in (secrets, mine):
            folder.chmod(0o755)
        home.mkdir()
        user = account.service() if account.is_root() else None
        if user:
            os.chown(home, user.uid, user.gid)
        programs = binary.find(place.locate(tmp_path))
        server, urls = start_server(programs.postgres, home, user)
        ends.callback(process.end, server, (signal.SIGINT, 30))
        port = valkey.free_port()
        for file in secrets.glob("*_url"):
            told = file.read_text().replace("@postgres:5432/fencepost", f"@/fencepost?host={home}")
            file.write_text(told.replace("@redis:6379", f"@127.0.0.1:{port}"))
        make_logins(programs.psql, urls, secrets, tmp_path)
        (tmp_path / "redis").mkdir()
        queue = subprocess.Popen(
            ["sh", COMPOSE / "redis.sh", "--port", str(port), "--dir", tmp_path / "redis"],
            env={"PATH": os.environ["PATH"], "REDIS_SERVER": str(programs.valkey),
                 "REDIS_URL_FILE": str(secrets / "redis_url")},
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        ends.callback(queue.wait, 20)
        ends.callback(queue.kill)
        fleet = Fleet(tmp_path, secrets, services, [])
        yield fleet
        for one in fleet.roles:
            one.kill()


def make_logins(psql: Path, urls: Database, secrets: Path, folder: Path) -> None:
    """What Postgres's image does with logins.sql, in the database that it made."""
    until(lambda: answers(urls.superuser_url))
    with urls.connect(urls.called("postgres").superuser_url, autocommit=True) as session:
        session.execute("create database fencepost")
    script = folder / "logins.sql"
    script.write_text((COMPOSE / "logins.sql").read_text().replace("/run/secrets", str(secrets)))
    words = [psql, "--no-psqlrc", "--quiet", "--file", script, plain(urls.superuser_url)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.timeout(240)
@pytest.mark.contract("S02")
def test_a_fleet_so_described_does_its_work(fleet: Fleet) -> None:
    """Logins, upgrade, two dispatchers and a worker from the file itself: a run ends well."""
    upgrade = fleet.services["upgrade"]["command"]
    assert fleet.run("upgrade", *upgrade, at=fleet.folder).returncode == 0
    for service in ("dispatcher", "dispatcher", "worker"):
        one = fleet.start(service)
        until(lambda: one.says("role.started") or not one.is_alive)  # noqa: B023
        assert one.is_alive, one.log.read_text()
        assert is_healthy(fleet.services[service], one)
    source = a_repository(fleet.folder / "repository", {"a.py": "x = 1\n"})

    done = fleet.run("fencepost", "run", "--", "sh", "-c", "echo 'y = 2' >> a.py", at=source)

    assert done.returncode == 0, done.stderr
    listed = fleet.run("fencepost", "pull-requests", "list", "--json", at=source)
    assert [request["state"] for request in json.loads(listed.stdout)] == ["open"]
    assert fleet.run("fencepost", "verify", at=source).returncode == 0


def test_the_logins_are_those_that_are_asked_for(fleet: Fleet) -> None:
    """logins.sql grants what `fencepost database roles` prints, word for word."""
    script = (COMPOSE / "logins.sql").read_text("utf-8")
    asked = roles.sql_for("fencepost_owner", "fencepost").replace('"', "")

    for line in asked.splitlines():
        if " login;" not in line:
            assert line in script
    refused = fleet.run("upgrade", "database", "upgrade", at=fleet.folder)
    assert refused.returncode == 0, refused.stderr


def test_redis_is_closed_keeps_what_it_has_and_evicts_nothing(fleet: Fleet) -> None:
    """Its password is asked for and in no list of processes; it appends, and never evicts."""
    url = (fleet.secrets / "redis_url").read_text().strip()
    with redis.Redis.from_url(url) as client:
        until(lambda: _pongs(client))
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        pid = client.info("server")["process_id"]
    stranger = redis.Redis.from_url(re.sub("//.*@", "//", url))
    with stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()

    secret = re.findall("[0-9a-f]{48}", url)[0]
    assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()


def secrets_in(folder: Path) -> Path:
    """What compose/make-secrets makes."""
    subprocess.run([COMPOSE / "make-secrets", folder], check=True)
    return folder


def is_healthy(service: Any, one: Role) -> bool:
    """Whether the health check of a service, asked at the port of this process, is content."""
    told = re.search(r"metrics\.served address=127\.0\.0\.1:(\d+)", one.log.read_text())
    assert told
    _, python, *words = service["healthcheck"]["test"]
    words = [word.replace("9464", told[1]) for word in words]
    assert python == "python"
    return subprocess.run([sys.executable, *words], check=False).returncode == 0


def answers(url: str) -> bool:
    try:
        psycopg.connect(plain(url).replace("/fencepost?", "/postgres?")).close()
    except psycopg.OperationalError:
        return False
    return True


def plain(url: str) -> str:
    return url.replace("+psycopg", "")


def _pongs(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
