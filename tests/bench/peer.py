"""The peers: other ways of having tasks done once, in a Python of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass

import redis
from bench.contender import Times
from bench.ground import TESTS, Ground
from psycopg import Connection

HOUSE = TESTS.parent
LOCK = HOUSE / "ops" / "bench.lock"
PYTHON = HOUSE / ".bench_cache" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Peer:
    """One of them: its script, and how its tables are read."""

    name: str
    lacks: str
    script: str
    done_query: str
    times_query: str

    def open(self, ground: Ground, processes: int, slots: int, tasks: int) -> RunningPeer:
        """Its schema in a new database, its workers, and one process that submits."""
        return RunningPeer(self, ground, processes, slots)


class RunningPeer:
    """A peer at work."""

    def __init__(self, peer: Peer, ground: Ground, processes: int, slots: int) -> None:
        self._peer = peer
        self.database = ground.database(migrated=False)
        url = self.database.superuser_url.replace("+psycopg", "")
        self._script = [str(PYTHON), "-P", str(TESTS / "bench" / "peers" / f"{peer.script}.py")]
        self._tail = [url, ground.redis_url, str(slots)]
        self._log = (ground.new_folder() / "log").open("wb")
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(ground.folder)}
        with redis.Redis.from_url(ground.redis_url) as client:
            client.flushall()
        subprocess.run(
            [*self._script, "setup", *self._tail], check=True, env=self._environment,
            stdout=self._log, stderr=self._log,
        )  # fmt: skip
        self._workers = [self._start("worker") for _ in range(processes)]
        self._submitter = self._start("submit")

    def submit(self, count: int) -> float:
        """Let the submitter send so many, and return its seconds."""
        assert self._submitter.stdin is not None
        assert self._submitter.stdout is not None
        self._submitter.stdin.write(f"{count}\n".encode())
        self._submitter.stdin.flush()
        return float(self._submitter.stdout.readline())

    def done(self, session: Connection) -> int:
        """How many tasks are done."""
        row = session.execute(self._peer.done_query).fetchone()
        assert row is not None
        return int(row[0])

    def times(self, session: Connection) -> list[Times]:
        """When each was submitted, started and done, in the order of submission."""
        return [Times(*row) for row in session.execute(self._peer.times_query).fetchall()]

    def workers(self) -> list[int]:
        """The workers' process ids."""
        return [one.pid for one in self._workers]

    def close(self) -> None:
        """End every process of it."""
        for one in (self._submitter, *self._workers):
            one.kill()
            one.wait(20)
        self._log.close()

    def _start(self, verb: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._script, verb, *self._tail], env=self._environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if verb == "submit" else self._log, stderr=self._log,
        )  # fmt: skip


PEERS = {
    "celery": Peer(
        "Celery, two rows a task",
        "no lease and no fence: a task that outlives the visibility timeout, or a connection's"
        " loss, runs twice at once; insert and send are two systems; no history",
        "celery_rows",
        "select count(*) from tasks where done_at is not null",
        "select extract(epoch from created_at)::float8, extract(epoch from started_at)::float8,"
        " extract(epoch from done_at)::float8 from tasks where done_at is not null order by task",
    ),
    "procrastinate": Peer(
        "Procrastinate",
        "no fence: a job whose worker seems dead is retried by a task of yours, beside a worker"
        " that may live; nothing about effects outside",
        "procrastinate_jobs",
        "select count(*) from procrastinate_jobs where status = 'succeeded'",
        "select extract(epoch from min(at) filter (where type = 'deferred'))::float8,"
        " extract(epoch from min(at) filter (where type = 'started'))::float8,"
        " extract(epoch from min(at) filter (where type = 'succeeded'))::float8"
        " from procrastinate_events group by job_id"
        " having bool_or(type = 'succeeded') order by job_id",
    ),
    "dbos": Peer(
        "DBOS",
        "no fence: a workflow of a dead executor is resumed, steps run at least once;"
        " its queue is polled",
        "dbos_workflows",
        "select count(*) from dbos.workflow_status where name = 'nothing' and status = 'SUCCESS'",
        "select created_at / 1e3, started_at_epoch_ms / 1e3, completed_at / 1e3"
        " from dbos.workflow_status where name = 'nothing' and status = 'SUCCESS'"
        " order by created_at, workflow_uuid",
    ),
}


def install() -> None:
    """Make the peers' Python from its lock, unless it is there; the product's has none of it."""
    stamp = PYTHON.parents[1] / "stamp"
    wanted = f"{sys.version}\n{PYTHON}\n{LOCK.read_text()}"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("bench: installs the peers of ops/bench.lock", flush=True)
    shutil.rmtree(PYTHON.parents[1], ignore_errors=True)
    venv.create(PYTHON.parents[1], with_pip=True)
    subprocess.run(
        [PYTHON, "-P", "-m", "pip", "--disable-pip-version-check", "--quiet", "install",
         "--require-hashes", "--requirement", LOCK],
        check=True,
    )  # fmt: skip
    stamp.write_text(wanted)
