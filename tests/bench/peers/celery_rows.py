"""Celery over Redis with two hand-written rows a task: insert, send; run, update.

Late acknowledgement, as its documentation has it for work that must not be lost.
Run by the bench's own Python: `celery_rows.py setup|worker|submit URL REDIS SLOTS`
"""

import sys
import threading
import time

import psycopg
from celery import Celery

verb, url, redis_url, slots = sys.argv[1:5]
app = Celery("bench", broker=redis_url)
app.conf.update(
    task_acks_late=True, task_ignore_result=True, task_default_queue="celery-rows",
    worker_hijack_root_logger=False, broker_connection_retry_on_startup=True,
)  # fmt: skip
local = threading.local()


def session() -> psycopg.Connection:
    """This thread's session; each statement commits."""
    if not hasattr(local, "session"):
        local.session = psycopg.connect(url, autocommit=True)
    return local.session


@app.task(name="nothing")
def nothing(task: int) -> None:
    begun = time.time()
    session().execute(
        "update tasks set started_at = to_timestamp(%s), done_at = clock_timestamp()"
        " where task = %s and done_at is null", (begun, task),
    )  # fmt: skip


def submit(count: int) -> None:
    for _ in range(count):
        (task,) = session().execute("insert into tasks default values returning task").fetchone()
        nothing.delay(task)


if verb == "setup":
    session().execute(
        "create table tasks (task bigint generated always as identity primary key,"
        " created_at timestamptz not null default clock_timestamp(),"
        " started_at timestamptz, done_at timestamptz)"
    )
elif verb == "worker":
    app.worker_main(
        ["--quiet", "worker", "--pool=threads", f"--concurrency={slots}", "--loglevel=ERROR",
         f"--hostname=bench{time.time_ns()}", "--without-gossip", "--without-mingle"]
    )  # fmt: skip
else:
    for line in sys.stdin:
        begun = time.perf_counter()
        submit(int(line))
        print(time.perf_counter() - begun, flush=True)
