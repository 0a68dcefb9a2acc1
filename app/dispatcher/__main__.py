"""The dispatcher: one process that holds no state and may run many times over."""

from __future__ import annotations

import functools
import signal
import sys
import threading
import time

from app import config, logs
from app.broker.publisher import Publisher
from app.broker.redis import Broker
from app.broker.topology import celery_app
from app.dispatcher import (
    github_watcher,
    janitor,
    loop,
    projector,
    reaper,
    relay,
    stager,
    ticker,
    watcher,
)
from app.dispatcher.loop import Beside, Nudge, Turn
from app.domain.errors import FencepostError
from app.events import Moment, emit
from app.github.account import account_of
from app.github.hub import Hub
from app.kinds import registry
from app.metrics.serving import serve
from app.metrics.shared import Shared
from app.metrics.turns import Turns
from app.operations.retention import kept_for
from app.parentage import watch_parent
from app.store import footing, installation
from app.store.engine import open_store
from app.store.listening import Listener

#: Seconds between two looks when nobody wakes us.
SWEEP = 0.5


def main() -> int:
    """Run until SIGTERM or SIGINT."""
    logs.to_stderr("dispatcher")
    stop = threading.Event()
    for signalled in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signalled, lambda *_: stop.set())
    watch_parent()
    settings = config.read()
    try:
        url = config.required(settings.database_url, "FENCEPOST_DATABASE_URL")
        redis_url = config.required(settings.redis_url, "FENCEPOST_REDIS_URL")
        registry.check(settings.lease)
        store = open_store(url, name="fencepost-dispatcher")
        footing.check(store, footing.Login.APP)
        with store.begin() as tx:
            named = installation.name(tx)
        hub = Hub(account_of(settings))
        sweeper = janitor.Janitor(store, settings.home, hub, kept_for(settings), stop)
        counted = Turns()
        shared = Shared(
            open_store(url, name="fencepost-metrics", connections=1),
            Broker(redis_url, role="metrics"),
        )
        serve(settings.metrics, "dispatcher", counted, shared)
    except FencepostError as fault:
        emit(Moment.TROUBLE, code=fault.code, what=fault.message, hint=fault.advice)
        return 2
    broker = Broker(redis_url, role="dispatcher")
    publisher = Publisher(celery_app(redis_url, role="dispatcher"))
    nudge = Nudge()
    turns = [
        Turn("project", nudge.after(functools.partial(projector.turn, store, settings.lease))),
        Turn("stage", functools.partial(stager.turn, store)),
        Turn("tick", functools.partial(ticker.turn, store)),
        Turn("reap", nudge.after(functools.partial(reaper.turn, store)), every=SWEEP),
        Turn("watch", functools.partial(watcher.turn, store, settings.home / "forge"), every=1.0),
        Turn("recall", nudge.after(functools.partial(relay.recall, store)), every=1.0),
    ]
    beside = [
        Turn("relay", functools.partial(relay.turn, store, broker, publisher, named)),
        Turn("replace", functools.partial(reaper.replace_lost_messages, store, broker), every=1.0),
    ]
    at_github = [
        Turn("watch_github", github_watcher.Watcher(store, hub).turn, every=github_watcher.EVERY)
    ]
    clearing = [
        Turn("clear", sweeper.turn, every=janitor.EVERY, due=time.monotonic() + janitor.FIRST)
    ]
    for turn in (*turns, *beside, *at_github, *clearing):
        turn.step = counted.counted(turn.name, turn.step)
    emit(Moment.ROLE_STARTED, role="dispatcher")
    listener = Listener(settings.listen_url or url)

    def wait(seconds: float, stop: threading.Event) -> None:
        listener.wait(seconds, stop)
        nudge.give()

    def rest(seconds: float, stop: threading.Event) -> None:
        stop.wait(seconds)

    # Redis may hang for seconds, and so may GitHub; what needs neither goes on meanwhile
    loops = [
        Beside(beside, nudge.wait, stop, SWEEP),
        Beside(at_github, rest, stop, SWEEP),
        Beside(clearing, rest, stop, SWEEP),
    ]
    loop.run(turns, wait, stop, SWEEP)
    for one in loops:
        one.end(SWEEP * 2)
    emit(Moment.ROLE_STOPPED, role="dispatcher")
    return 0


if __name__ == "__main__":
    sys.exit(main())
