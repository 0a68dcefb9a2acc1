"""A worker: one process, some slots, any number of them on any number of hosts."""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import sys
import warnings

from celery.signals import worker_shutting_down

from app import config, logs
from app.broker.redis import Broker
from app.broker.topology import celery_app
from app.domain.errors import FencepostError
from app.domain.identity import mint
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.parentage import watch_parent
from app.store import footing
from app.store.engine import open_store
from app.store.listening import Waker
from workers.keeper import Keeper
from workers.tasks import register
from workers.worker import Worker
from workers.workspace.sweep import sweep


def main(arguments: list[str] | None = None) -> int:
    """Check what this process stands on, then take deliveries until SIGTERM (Q06, Q15)."""
    parser = argparse.ArgumentParser(prog="fencepost worker")
    parser.add_argument("--slots", type=int, default=4)
    slots = parser.parse_args(arguments).slots
    logs.to_stderr("worker")
    watch_parent()
    settings = config.read()
    name = f"{platform.node()}-{os.getpid()}-{mint('p')[2:8]}"
    try:
        redis_url = config.required(settings.redis_url, "FENCEPOST_REDIS_URL")
        url = config.required(settings.database_url, "FENCEPOST_DATABASE_URL")
        store = open_store(url, name="fencepost-worker", connections=max(4, slots // 2))
        footing.check(store, footing.Login.WORKER)
        Broker(redis_url, role="check").check()
    except FencepostError as fault:
        emit(Moment.TROUBLE, code=fault.code, what=fault.message, hint=fault.advice)
        return 2
    worker = Worker(name, settings.home, store, Keeper(store), Waker(store))
    sweep(worker.checkouts)
    # as root is how containers and this machine's owner run it; agents' isolation is our own matter
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    app = celery_app(redis_url, role=f"worker-{name}")
    register(app, worker)
    _hand_back_when_told_twice(worker.keeper)
    emit(Moment.ROLE_STARTED, role="worker", slots=slots, name=name)
    app.worker_main(
        [
            "--quiet", "worker", "--pool=threads", f"--concurrency={slots}",
            f"--queues={','.join(KINDS)}",
            f"--hostname=fencepost-{name}", "--without-gossip", "--without-mingle",
            "--loglevel=WARNING", "--task-events",
        ]
    )  # fmt: skip
    return 0


def _hand_back_when_told_twice(keeper: Keeper) -> None:
    """The first SIGTERM drains, which is Celery's part; the second hands work back (Q06)."""
    told = itertools.count(1)

    def hear(**_: object) -> None:
        if next(told) == 2:
            keeper.hand_back()

    worker_shutting_down.connect(hear, weak=False)


if __name__ == "__main__":
    sys.exit(main())
