"""A worker: one process, some slots, any number of them on any number of hosts."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import warnings
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from celery import bootsteps
from celery.signals import worker_shutting_down

from app import agents, caches, config, isolation, logs
from app.broker.redis import Broker, worker_role
from app.broker.topology import celery_app
from app.broker.transport import Door, install
from app.broker.unburied import Unburied
from app.domain.errors import FencepostError
from app.domain.identity import mint
from app.events import Moment, emit
from app.github.account import account_of
from app.github.hub import Hub
from app.kinds.registry import KINDS
from app.metrics.serving import serve
from app.metrics.slots import Slots
from app.parentage import watch_parent
from app.store import footing
from app.store.engine import open_store
from app.store.listening import Waker
from workers.burial import Undertaker
from workers.draining import GRACE, Drain
from workers.housekeeping import Housekeeping
from workers.keeper import Keeper
from workers.occupancy import Occupancy
from workers.room import Disk
from workers.selftest import in_memory, prove, prove_codex
from workers.tasks import register
from workers.watchdog import EXIT, PATIENCE, Watchdog
from workers.worker import Worker
from workers.workspace.sweep import sweep

_LAST = 10.0  #: seconds to bury what was read


def main(arguments: list[str] | None = None) -> int:
    """Check what this process stands on, then take deliveries until SIGTERM (Q06, Q15)."""
    parser = argparse.ArgumentParser(prog="fencepost worker")
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--grace", type=float, help="seconds")
    parser.add_argument(
        "--kind", action="append", choices=list(KINDS), help="the only ones it takes"
    )
    parser.add_argument("--patience", type=int, default=PATIENCE, help=argparse.SUPPRESS)
    told = parser.parse_args(arguments)
    slots: int = told.slots
    kinds = told.kind or list(KINDS)
    logs.to_stderr("worker")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # process 1 would not hear it otherwise
    watch_parent()
    settings = config.read()
    name = f"{platform.node()}-{os.getpid()}-{mint('p')[2:8]}"
    try:
        told_of_agents, apart = agents.read(), isolation.read()
        bounds = caches.read()
        redis_url = config.required(settings.redis_url, "FENCEPOST_REDIS_URL")
        url = config.required(settings.database_url, "FENCEPOST_DATABASE_URL")
        disk = Disk(settings.home, settings.least_disk)
        prove(in_memory() if disk.is_short() else nullcontext(settings.home), apart)
        store = open_store(url, name="fencepost-worker", connections=max(4, slots // 2))
        footing.check(store, footing.Login.WORKER)
        Broker(redis_url, role="check").check()
        occupancy = Occupancy(slots)
        hub = Hub(account_of(settings))
        serve(settings.metrics, "worker", Slots(slots, lambda: occupancy.busy))
    except FencepostError as fault:
        emit(Moment.TROUBLE, code=fault.code, what=fault.message, hint=fault.advice)
        return 2
    # a renewal waits for no slot's statement
    keeper = Keeper(open_store(url, name="fencepost-keeper", connections=1))
    worker = Worker(
        name, settings.home, store, keeper, Waker(store), disk, hub, told_of_agents, apart
    )
    sweep(worker.checkouts)
    Housekeeping(worker.checkouts, worker.caches, bounds, disk.is_short).start()
    try:
        if told_of_agents.codex.key is not None:
            prove_codex(settings.home, apart, told_of_agents.codex)
    except FencepostError as fault:  # its runs will fail by this; others need not
        emit(Moment.TROUBLE, code=fault.code, what=fault.message, hint=fault.advice)
    # as root is how containers and this machine's owner run it; agents' isolation is our own matter
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    role = worker_role(name, slots)
    undertaker = Undertaker(store, Unburied(redis_url, role=role), name)
    door = Door(undertaker.bring, disk.is_short)
    install(door)
    app = celery_app(redis_url, role=role)
    register(app, worker, occupancy)
    broker = Broker(redis_url, role=role)
    watchdog = Watchdog(
        kinds, lambda queue: 0 if undertaker.is_full or disk.is_short() else broker.depth(queue),
        door.read, occupancy, told.patience,
    )  # fmt: skip
    drain = Drain(keeper, _grace(told.grace, settings.grace), lambda: watchdog.has_bitten)
    worker_shutting_down.connect(drain.hear, weak=False)
    app.steps["worker"].add(_one_meaning())
    worker_shutting_down.connect(lambda **_: watchdog.rest(), weak=False)
    watchdog.start()
    emit(Moment.ROLE_STARTED, role="worker", slots=slots, name=name)
    try:
        app.worker_main(
            [
                "--quiet", "worker", "--pool=threads", f"--concurrency={slots}",
                f"--queues={','.join(kinds)}",
                f"--hostname=fencepost-{name}", "--without-gossip", "--without-mingle",
                "--loglevel=WARNING", "--task-events",
            ]
        )  # fmt: skip
    finally:
        undertaker.close(_LAST)
    return EXIT if watchdog.has_bitten else 0


def _grace(typed: float | None, setting: timedelta | None) -> timedelta:
    if typed is not None:
        return timedelta(seconds=typed)
    return GRACE if setting is None else setting


def _one_meaning() -> Any:
    """A step of Celery's start after which Ctrl-C, QUIT and a lost terminal mean what TERM means.

    Celery would drop what runs, or start itself anew. Who started us with `nohup` is heeded.
    """
    others = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
    ignored = {other for other in others if signal.getsignal(other) is signal.SIG_IGN}

    class OneMeaning(bootsteps.StartStopStep):
        def start(self, parent: Any) -> None:
            for other in others:
                told = signal.SIG_IGN if other in ignored else signal.getsignal(signal.SIGTERM)
                signal.signal(other, told)

    return OneMeaning


if __name__ == "__main__":
    sys.exit(main())
